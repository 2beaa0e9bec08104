"""Which captures are of one run of several ranks, by their folders.

A folder that has captures of several ranks is one run. Where each rank has written into a folder of its own, these lie
side by side: they are one run if they have the same number of ranks, overlap in time, and are of no other programs, by
what is known of them. Where two of them are of the same rank, none is joined: whose the others are is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar

from tb_dataplugin.compare import are_other_programs
from tb_dataplugin.reader.discovery import when_taken
from tb_dataplugin.remote import Source
from tb_dataplugin.report.report_pb2 import Capture, CaptureRow

AnySource = TypeVar("AnySource", bound=Source)

CLOCKS_APART_US: Final = 60e6
"""Clocks of two hosts may differ by this. Those that are set over a network differ by less than a second; the next run
of a program takes longer than a minute to come to its capture, or begins on the same hosts.
"""


@dataclass(frozen=True, slots=True)
class ListedRank(Generic[AnySource]):
    """A capture as it is listed in `folder`, "." for the outermost. `marks`: what its program is known by, encoded."""

    source: AnySource
    folder: str
    row: CaptureRow
    marks: bytes


@dataclass(frozen=True, slots=True)
class RankRun(Generic[AnySource]):
    """`folders`: of its captures, by rank where each has one of its own. `sources`: the newest first."""

    name: str
    folders: tuple[str, ...]
    sources: tuple[AnySource, ...]


@dataclass(frozen=True, slots=True)
class _Own(Generic[AnySource]):
    """A folder of one rank. `spans`: of its captures in order, from when to when in us of Unix time."""

    name: str
    rank: int
    ranks: int
    host: str
    spans: tuple[tuple[float, float], ...]
    captures: tuple[ListedRank[AnySource], ...]

    @property
    def marks(self) -> bytes:
        return self.captures[0].marks


def runs_of_ranks(captures: Iterable[ListedRank[AnySource]]) -> list[RankRun[AnySource]]:
    """By name. Replays have no other ranks."""
    folders = defaultdict[str, list[ListedRank[AnySource]]](list)
    for capture in captures:
        if capture.row.HasField("rank") and capture.row.mode != "replay":
            folders[capture.folder].append(capture)
    found = {
        name: RankRun(name, (name,), _newest_listed(inside))
        for name, inside in folders.items()
        if len({capture.row.rank for capture in inside}) > 1
    }
    beside = defaultdict[str, list[_Own[AnySource]]](list)
    for name, inside in folders.items():
        if name not in found and name != "." and (own := _own(name, inside)) is not None:
            beside[name.rpartition("/")[0] or "."].append(own)
    for parent, owns in beside.items():
        joined = list(_joined(owns))
        for group in joined:
            has_name = len(joined) == 1 and parent not in folders  # else it is that of other captures as well
            name = parent if has_name else f"{group[0].name} … {group[-1].name.rpartition('/')[2]}"
            found[name] = _run_of(name, group)
    return [found[name] for name in sorted(found)]


def newest_first(sources: Iterable[AnySource]) -> tuple[AnySource, ...]:
    """As far as that is known before they are read."""
    return _by_time((0.0, source) for source in sources)


def _newest_listed(captures: Iterable[ListedRank[AnySource]]) -> tuple[AnySource, ...]:
    return _by_time((capture.row.window_unix_us, capture.source) for capture in captures)


def _by_time(sources: Iterable[tuple[float, AnySource]]) -> tuple[AnySource, ...]:
    """The newest first. Each with when its window began, as reports have it."""

    def order(one: tuple[float, AnySource]) -> tuple[int, str]:
        window_unix_us, source = one
        return -when_taken(window_unix_us, source.name, source.modified_ns).unix_ns, source.id

    return tuple(source for _, source in sorted(sources, key=order))


def _run_of(name: str, owns: Sequence[_Own[AnySource]]) -> RankRun[AnySource]:
    listed = [capture for own in owns for capture in own.captures]
    return RankRun(name, tuple(own.name for own in owns), _newest_listed(listed))


def _own(name: str, captures: Sequence[ListedRank[AnySource]]) -> _Own[AnySource] | None:
    """None where they do not say of how many ranks theirs is one, or when they were taken."""
    sizes = {capture.row.world_size if capture.row.HasField("world_size") else 0 for capture in captures}
    began = [(capture.row.window_unix_us, capture.row.window_us) for capture in captures]
    spans = sorted((at, at + length) for at, length in began if at)
    if len(sizes) > 1 or max(sizes) < 2 or not spans:
        return None
    first = captures[0].row
    return _Own(name, first.rank, max(sizes), first.host, tuple(spans), tuple(captures))


def _joined(owns: Iterable[_Own[AnySource]]) -> Iterator[list[_Own[AnySource]]]:
    """Those that fit together, by rank; without a rank that occurs twice."""
    groups: list[list[_Own[AnySource]]] = []
    for own in sorted(owns, key=lambda one: (one.rank, one.name)):
        fitting = [group for group in groups if any(_fit(own, other) for other in group)]
        groups = [group for group in groups if group not in fitting]
        groups.append([*(other for group in fitting for other in group), own])
    for group in groups:
        if 1 < len(group) == len({own.rank for own in group}):
            yield sorted(group, key=lambda own: own.rank)


def _fit(one: _Own[AnySource], other: _Own[AnySource]) -> bool:
    apart = 0.0 if one.host and one.host == other.host else CLOCKS_APART_US
    return (
        one.ranks == other.ranks
        and _overlap(one.spans, other.spans, apart)
        and not _are_other_programs(one.marks, other.marks)
    )


def _overlap(ones: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]], apart: float) -> bool:
    """Whether any two lie less than `apart` from each other; both in order."""
    place, other = 0, 0
    while place < len(ones) and other < len(others):
        (begins, ends), (other_begins, other_ends) = ones[place], others[other]
        if ends + apart <= other_begins:
            place += 1
        elif other_ends + apart <= begins:
            other += 1
        else:
            return True
    return False


@lru_cache(maxsize=4096)
def _are_other_programs(one: bytes, other: bytes) -> bool:
    return are_other_programs(Capture.FromString(one), Capture.FromString(other))
