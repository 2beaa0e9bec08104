"""The comparisons that an HTML report carries: those that its captures suggest, as the tab does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tb_dataplugin.compare import Listed, RepeatedRuns, are_same_program, compare, marks_of, place_of, repeated_runs
from tb_dataplugin.compare.suggesting import Candidate, is_beside, suggest
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.report.report_pb2 import Capture

MOST: Final = 100
"""Of a page. Each takes 2 to 20 ms, and has 5 to 100 KB; what there is room for is decided by the page."""

MOST_OF_A_SIDE: Final = 32
"""Captures of a run."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides, by the captures' numbers on the page."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def numbers(self) -> set[int]:
        return {*self.before, *self.after}

    def as_ids(self) -> dict[str, list[str]]:
        return {"before": [*map(str, self.before)], "after": [*map(str, self.after)]}


def suggested_pairs(captures: Sequence[Capture], taken_ns: Sequence[int]) -> list[Pair | None]:
    """What each capture is compared with, None where nothing suggests itself.

    Args:
        taken_ns: when each was taken; none are known where it is shorter.
    """
    repeated = repeated_in(captures)
    places = [place_of(run_of(capture), repeated) for capture in captures]
    candidates = [
        Candidate(str(number), run_of(capture), places[number], taken, partial(captures.__getitem__, number))
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


def repeated_in(captures: Sequence[Capture]) -> tuple[RepeatedRuns, ...]:
    """Folders of repeated runs, as the page lists captures."""
    return repeated_runs(
        tuple(
            Listed(
                run_of(capture),
                capture.name.rpartition("/")[2],
                capture.rank if capture.HasField("rank") else None,
                marks_of(capture).SerializeToString(deterministic=True),
            )
            for capture in captures
        )
    )


def given_pairs(captures: Sequence[Capture], folders: Sequence[Sequence[int]], taken_ns: Sequence[int]) -> list[Pair]:
    """Of folders that somebody named, each with the one of the same program before it in time.

    Args:
        folders: the captures of each; those that are no side of several captures are left out.
    """
    offered = _sides_of_several(captures)
    sides = [side for side in dict.fromkeys(map(tuple, folders)) if side in offered]
    if len(taken_ns) == len(captures):
        sides.sort(key=lambda side: min(taken_ns[number] for number in side))
    pairs = []
    for at, after in enumerate(sides):
        alike = (side for side in reversed(sides[:at]) if are_same_program(captures[side[0]], captures[after[0]]))
        pairs += [Pair(before, after) for before in alike][:1]
    return pairs


def comparisons(
    captures: Sequence[Capture], pairs: Sequence[Pair | None], given: Sequence[Pair] = ()
) -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Each pair once, those that are given and then those that are most likely wanted first, and before it the sides of
    several captures around it: repeated runs show more.
    """
    wanted: dict[Pair, None] = dict.fromkeys(given)
    sides_of_several = _sides_of_several(captures)
    for pair in _likeliest_first(captures, pairs):
        around = _sides_around(sides_of_several, pair)
        wanted |= dict.fromkeys([around, pair] if around is not None else [pair])
    for pair in [*wanted][:MOST]:
        sides = [[captures[number] for number in side] for side in (pair.before, pair.after)]
        yield pair, as_dict(compare(*sides))


def _likeliest_first(captures: Sequence[Capture], pairs: Sequence[Pair | None]) -> list[Pair]:
    """Of places in one parent folder, sides that nothing is doubtful of; but a first pair for each capture before all
    that only have captures of others.
    """
    repeated = repeated_in(captures)

    def unlikely(pair: Pair) -> tuple[bool, bool]:
        before, after = (captures[number] for (number,) in (pair.before, pair.after))
        places = (place_of(run_of(side), repeated) for side in (before, after))
        return not is_beside(*places), bool(before.doubts or after.doubts)

    first: list[Pair] = []
    others: list[Pair] = []
    seen: set[int] = set()
    for pair in sorted(dict.fromkeys(pair for pair in pairs if pair is not None), key=unlikely):
        (others if seen >= pair.numbers else first).append(pair)
        seen |= pair.numbers
    return [*first, *others]


def shown_pairs(pairs: Sequence[Pair | None], kept: Collection[Pair]) -> list[Pair | None]:
    """What a page shows of each capture: what it suggests, else what another suggests of it; where neither is kept,
    still the first, so that the page can name it.
    """
    single = [pair for pair in kept if len(pair.before) == len(pair.after) == 1]
    return [
        pair if pair in kept else next((one for one in single if number in one.numbers), pair)
        for number, pair in enumerate(pairs)
    ]


def _sides_of_several(captures: Sequence[Capture]) -> list[tuple[int, ...]]:
    """The captures of each run, and of each folder of repeated runs; the smallest first."""
    runs = defaultdict[str, list[int]](list)
    for number, capture in enumerate(captures):
        runs[run_of(capture)].append(number)
    sides = [*map(tuple, runs.values()), *(found.numbers for found in repeated_in(captures))]
    return sorted((side for side in sides if 1 < len(side) <= MOST_OF_A_SIDE), key=len)


def _sides_around(sides: Sequence[tuple[int, ...]], pair: Pair) -> Pair | None:
    """As `bothRuns` of the page: None where a single capture is of no side of several, or both are of one."""
    before, after = (next((side for side in sides if number in side), None) for (number,) in (pair.before, pair.after))
    return None if before is None or after is None or before == after else Pair(before, after)
