"""The comparisons that an HTML report carries: those that its captures suggest, as the tab does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tb_dataplugin.compare import (
    Listed,
    RepeatedRuns,
    are_same_program,
    compare,
    marks_of,
    place_of,
    repeated_runs,
    sides_of_several,
)
from tb_dataplugin.compare.suggesting import Candidate, Suggestion, is_beside, suggest
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.report.report_pb2 import Capture

MOST: Final = 100
"""Of a page. Each takes 2 to 20 ms, and has 5 to 100 KB; what there is room for is decided by the page."""


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
        taken_ns: when each was taken; 0 where nobody knows, of all where it is shorter.
    """
    listed = _listed(captures)
    repeated, sides = repeated_runs(listed), sides_of_several(listed)
    places = [place_of(run_of(capture), repeated) for capture in captures]
    if len(taken_ns) < len(captures):
        return [None] * len(captures)
    candidates = {
        number: Candidate(str(number), run_of(capture), places[number], taken, partial(captures.__getitem__, number))
        for number, (capture, taken) in enumerate(zip(captures, taken_ns, strict=True))
        if taken > 0  # else nobody knows what it is before, or after
    }
    newest = sorted(candidates.values(), key=lambda one: -one.taken_ns)
    by_place = {place: tuple(map(str, numbers)) for place, numbers in sides.items() if candidates.keys() >= {*numbers}}
    return [
        _pair(suggest(newest, candidates[number], capture, by_place)) if number in candidates else None
        for number, capture in enumerate(captures)
    ]


def _pair(found: Suggestion) -> Pair | None:
    before, after = (tuple(map(int, side)) for side in (found.before, found.after))
    return Pair(before, after) if before and after else None


def run_of(capture: Capture) -> str:
    """The run that the page lists a capture under."""
    return capture.name.rpartition("/")[0] or "."


def repeated_in(captures: Sequence[Capture]) -> tuple[RepeatedRuns, ...]:
    """Folders of repeated runs, as the page lists captures."""
    return repeated_runs(_listed(captures))


def _listed(captures: Sequence[Capture]) -> tuple[Listed, ...]:
    return tuple(
        Listed(
            run_of(capture),
            capture.name.rpartition("/")[2],
            capture.rank if capture.HasField("rank") else None,
            marks_of(capture).SerializeToString(deterministic=True),
        )
        for capture in captures
    )


def given_pairs(captures: Sequence[Capture], folders: Sequence[Sequence[int]], taken_ns: Sequence[int]) -> list[Pair]:
    """Of folders that somebody named, each with the one of the same program before it in time.

    Args:
        folders: the captures of each; those that are no side of several captures are left out.
    """
    offered = {*sides_of_several(_listed(captures)).values()}
    sides = [side for side in dict.fromkeys(map(tuple, folders)) if side in offered]
    if len(taken_ns) == len(captures) and all(taken_ns):
        sides.sort(key=lambda side: min(taken_ns[number] for number in side))
    pairs = []
    for at, after in enumerate(sides):
        alike = (side for side in reversed(sides[:at]) if are_same_program(captures[side[0]], captures[after[0]]))
        pairs += [Pair(before, after) for before in alike][:1]
    return pairs


def comparisons(
    captures: Sequence[Capture], pairs: Sequence[Pair | None], given: Sequence[Pair] = ()
) -> Iterator[tuple[Pair, dict[str, Any]]]:
    """Each pair once, those that are given and then those that are most likely wanted first."""
    wanted = dict.fromkeys((*given, *_likeliest_first(captures, pairs)))
    for pair in [*wanted][:MOST]:
        sides = [[captures[number] for number in side] for side in (pair.before, pair.after)]
        yield pair, as_dict(compare(*sides))


def _likeliest_first(captures: Sequence[Capture], pairs: Sequence[Pair | None]) -> list[Pair]:
    """Of places in one parent folder, sides that nothing is doubtful of; but a first pair for each capture before all
    that only have captures of others.
    """
    repeated = repeated_in(captures)

    def unlikely(pair: Pair) -> tuple[bool, bool]:
        places = (place_of(run_of(captures[side[0]]), repeated) for side in (pair.before, pair.after))
        return not is_beside(*places), any(captures[number].doubts for number in pair.numbers)

    first: list[Pair] = []
    others: list[Pair] = []
    seen: set[int] = set()
    for pair in sorted(dict.fromkeys(pair for pair in pairs if pair is not None), key=unlikely):
        (others if seen >= pair.numbers else first).append(pair)
        seen |= pair.numbers
    return [*first, *others]


def shown_pairs(pairs: Sequence[Pair | None], kept: Collection[Pair], given: Sequence[Pair] = ()) -> list[Pair | None]:
    """What a page shows of each capture: what is given of it, else what it suggests, else what another suggests of it;
    where none is kept, still the first, so that the page can name it.
    """

    def of(number: int, some: Iterable[Pair]) -> Pair | None:
        mine = [pair for pair in some if pair in kept and number in pair.numbers]
        return next((pair for pair in mine if number in pair.after), mine[0] if mine else None)

    return [
        of(number, given) or (pair if pair in kept else of(number, kept) or pair) for number, pair in enumerate(pairs)
    ]
