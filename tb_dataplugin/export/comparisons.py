"""The comparisons that an HTML report carries: those that its captures suggest, as the tab does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.suggesting import Candidate, suggest
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.report.report_pb2 import Capture

MOST: Final = 16
"""Of a page; each takes about as long as drawing it."""

MOST_OF_A_SIDE: Final = 32
"""Captures of a run."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides, by the captures' numbers on the page."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def as_ids(self) -> dict[str, list[str]]:
        return {"before": [*map(str, self.before)], "after": [*map(str, self.after)]}


def suggested_pairs(captures: Sequence[Capture], taken_ns: Sequence[int]) -> list[Pair | None]:
    """What each capture is compared with, None where nothing suggests itself.

    Args:
        taken_ns: when each was taken; none are known where it is shorter.
    """
    candidates = [
        Candidate(str(number), run_of(capture), taken, partial(captures.__getitem__, number))
        for number, (capture, taken) in enumerate(zip(captures, taken_ns, strict=False))
    ]
    newest = sorted(candidates, key=lambda one: -one.taken_ns)
    found = [suggest(newest, own, captures[int(own.id)]) for own in candidates]
    pairs = [_pair(number, one.before, one.after) for number, one in enumerate(found)]
    return [*pairs, *[None] * (len(captures) - len(pairs))]


def _pair(own: int, before: str | None, after: str | None) -> Pair | None:
    if before is not None:
        return Pair((int(before),), (own,))
    return Pair((own,), (int(after),)) if after is not None else None


def run_of(capture: Capture) -> str:
    """The run that the page lists a capture under."""
    return capture.name.rpartition("/")[0] or "."


def comparisons(captures: Sequence[Capture], pairs: Sequence[Pair | None]) -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Each pair once, and the runs around it where those have several captures: repeated runs show more."""
    known = list(dict.fromkeys(pair for pair in pairs if pair is not None))
    around = dict.fromkeys(pair for known_pair in known if (pair := _runs_around(captures, known_pair)) is not None)
    for pair in [*around, *known][:MOST]:
        sides = [[captures[number] for number in side] for side in (pair.before, pair.after)]
        yield pair, as_dict(compare(*sides))


def _runs_around(captures: Sequence[Capture], pair: Pair) -> Pair | None:
    """As `bothRuns` of the page: None where a side's run has no other capture, or both are of one run."""
    sides = []
    for (number,) in (pair.before, pair.after):
        run = run_of(captures[number])
        sides.append(tuple(other for other, capture in enumerate(captures) if run_of(capture) == run))
    before, after = sides
    if before == after or not all(1 < len(side) <= MOST_OF_A_SIDE for side in sides):
        return None
    return Pair(before, after)
