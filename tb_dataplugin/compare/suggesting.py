"""Which capture of the same program a capture suggests itself to be compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from tb_dataplugin.compare.programs import are_same_program
from tb_dataplugin.compare.sides import is_cut
from tb_dataplugin.report.report_pb2 import Capture

MOST_READ: Final = 64
"""Reports looked into: one comes from memory, or in 20 ms from the cache."""

MOST_RUNS: Final = 4
"""Runs of the program among which one that is not doubtful is looked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A capture as it is listed. `place`: the folder whose numbered runs its run is one of, else its run. `read`
    gives its report, None where that is not possible any more.
    """

    id: str
    run: str
    place: str
    taken_ns: int
    read: Callable[[], Capture | None]
    state: Literal["ready", "waiting", "unreadable"] = "ready"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Ids of both sides; empty where none is known to be of the same program. `waiting`: some that would come first are
    not analysed yet. `passed_over`: runs that would come first, were not all of their captures doubtful.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    waiting: bool = False
    passed_over: tuple[str, ...] = ()


def suggest(
    candidates: Iterable[Candidate], own: Candidate, capture: Capture, sides: Mapping[str, tuple[str, ...]]
) -> Suggestion:
    """A capture of another run in the same parent folder (`before` and `after` of one change), where folders of
    numbered runs stand for these, else any: the newest older one, else the oldest newer one. Of those elsewhere another
    place comes before its own, another run before its own; of several processes the one of the same rank. Other ranks
    of its own run are not before or after it, nor is a rank before or after a process of its own, nor a file that is
    cut off. A doubtful capture only where its run has no other, and none of the next few runs has.
    Where both places have several captures, all of them are the sides: repeated runs show more.

    Args:
        candidates: newest first; `own` may be among them.
        capture: the report of `own`.
        sides: by place, the candidates of those that have several of one program.
    """
    every = list(candidates)
    taken_ns = {one.id: one.taken_ns for one in every}
    begun = {place: min(taken_ns[one] for one in ids) for place, ids in sides.items()}
    others = [other for other in every if other.id != own.id]
    beside = [other for other in others if is_beside(other.place, own.place)]
    elsewhere = [other for other in others if not is_beside(other.place, own.place)]
    for group in (beside, elsewhere):
        is_older = {other.id: _when(other, own, begun) < _when(own, other, begun) for other in group}
        older = [other for other in group if is_older[other.id]]
        newer = [other for other in reversed(group) if not is_older[other.id]]
        for found, passed_over, waits in (_nearest(older, own, capture), _nearest(newer, own, capture)):
            if found is not None:
                before, after = (found, own) if is_older[found.id] else (own, found)
                suggestion = _widened(before, after, sides)
                compared = {one.run for one in every if one.id in (*suggestion.before, *suggestion.after)}
                return replace(suggestion, passed_over=tuple(run for run in passed_over if run not in compared))
            if waits:
                return Suggestion(waiting=True)
    return Suggestion()


def _when(one: Candidate, other: Candidate, begun_ns: Mapping[str, int]) -> int:
    """Runs of two versions may take turns: each version is as old as its first capture."""
    return one.taken_ns if one.place == other.place else begun_ns.get(one.place, one.taken_ns)


def _widened(before: Candidate, after: Candidate, sides: Mapping[str, tuple[str, ...]]) -> Suggestion:
    if before.place != after.place and before.place in sides and after.place in sides:
        return Suggestion(sides[before.place], sides[after.place])
    return Suggestion((before.id,), (after.id,))


def is_beside(place: str, other: str) -> bool:
    """Whether they are two runs, or folders of repeated runs, in one parent folder."""
    return place != other and place.rpartition("/")[0] == other.rpartition("/")[0]


def _nearest(
    candidates: Sequence[Candidate], own: Candidate, capture: Capture
) -> tuple[Candidate | None, tuple[str, ...], bool]:
    """None where there is none; the runs passed over for it; and whether some are not analysed yet."""
    ordered = sorted(candidates, key=lambda other: (other.place == own.place, other.run == own.run))  # nearest first
    runs = list(_alike(ordered, own, capture))
    alike = next((run for run in runs if _is_sound(run, capture)), runs[0] if runs else [])
    waiting = any(other.state == "waiting" for other in candidates)
    found = next((other for other, _ in sorted(_of_rank(alike, capture), key=lambda one: bool(one[1].doubts))), None)
    return found, tuple(run[0][0].run for run in runs[: runs.index(alike)] if run) if alike else (), waiting


_Read = tuple[Candidate, Capture]


def _alike(candidates: Iterable[Candidate], own: Candidate, capture: Capture) -> Iterator[list[_Read]]:
    """The captures of the same program, run by run, up to the first run that is sound."""
    found: list[_Read] = []
    runs = 0
    ready = [other for other in candidates if other.state == "ready"]
    for other in ready[:MOST_READ]:
        if found and other.run != found[0][0].run:
            yield found
            runs += 1
            if _is_sound(found, capture) or runs == MOST_RUNS:
                return
            found = []
        report = other.read()
        if report is None or is_cut(report) or (other.run == own.run and report.rank != capture.rank):
            continue
        if are_same_program(report, capture) and _is_of_several(report) == _is_of_several(capture):
            found.append((other, report))
    if found:
        yield found


def _is_of_several(capture: Capture) -> bool:
    """A rank waits for the others: it is no match for a process of its own."""
    return capture.world_size > 1


def _of_rank(run: Sequence[_Read], capture: Capture) -> Sequence[_Read]:
    """Those of the same rank, where there are any."""
    return [one for one in run if one[1].rank == capture.rank] or run


def _is_sound(run: Sequence[_Read], capture: Capture) -> bool:
    """Nothing is certain beside a capture that is doubtful."""
    return any(not other.doubts for _, other in _of_rank(run, capture))
