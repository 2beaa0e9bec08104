"""Spans by the words of their name: how many there are, and any one of them; all of them, not only what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.timeline.lanes import LaneSource, TimelineSource
from tb_dataplugin.timeline.pyramid import Spans
from tb_dataplugin.timeline.slicing import cut_name


@dataclass(frozen=True, slots=True)
class Scope:
    """Lanes of one DataLoader and one device only; None: of all. Lanes that are neither's are always in it."""

    loader: int | None = None
    device: int | None = None

    def has(self, lane: LaneSource) -> bool:
        return all(
            wanted is None or owned in (None, wanted)
            for wanted, owned in ((self.loader, lane.owner.loader), (self.device, lane.owner.device))
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the spans that have the words, by start: the one of that number (counted on from either end), else the
    first from a moment on, else the last before one; the first or the last where there is none."""

    number: int | None = None
    from_ns: int | None = None
    before_ns: int | None = None


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """`depth`: its row in the lane; 0 is the row that a folded lane shows."""

    number: int
    lane: str
    depth: int
    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Found:
    """`undrawn`: further spans with these words, which the timeline has no room for. `span`: the one at the place."""

    count: int
    undrawn: int
    span: FoundSpan | None


@dataclass(frozen=True, slots=True)
class _Hits:
    """Rows of `spans` that begin in the window and have the words."""

    lane: str
    depth: int
    spans: Spans
    rows: npt.NDArray[np.intp]


def search_spans(source: TimelineSource, words: Sequence[str], scope: Scope, place: Place | None) -> Found:
    """Spans whose name has all of `words`, in any case of letters, and that begin in the window: a stage's are its
    calls."""
    has_words = [all(word.lower() in label.text.lower() for word in words) for label in source.labels]
    hits = list(_hits(source, np.array(has_words, dtype=np.bool_), scope))
    undrawn = sum(count for count, has in zip(source.undrawn, has_words, strict=True) if has)
    count = sum(len(some.rows) for some in hits)
    return Found(count, undrawn, _span_at(source, hits, place) if place is not None and count else None)


def _hits(source: TimelineSource, has_words: npt.NDArray[np.bool_], scope: Scope) -> Iterator[_Hits]:
    for lane in source.lanes:
        for depth, row in enumerate(lane.rows if scope.has(lane) else ()):
            inside = row.spans.within(source.window)
            rows = np.flatnonzero(has_words[row.spans.label[inside]]) + inside.start
            yield _Hits(lane.id, depth, row.spans, rows)


def _span_at(source: TimelineSource, hits: Sequence[_Hits], place: Place) -> FoundSpan:
    starts = np.concatenate([some.spans.start_ns[some.rows] for some in hits])
    order = np.argsort(starts, kind="stable")
    number = _number(starts[order], place)
    at = int(order[number])
    for some in hits:
        if at < len(some.rows):
            row = some.rows[at]
            start, end = int(some.spans.start_ns[row]), int(some.spans.end_ns[row])
            name = cut_name(source.labels[some.spans.label[row]].text)
            return FoundSpan(number, some.lane, some.depth, name, start, end - start)
        at -= len(some.rows)
    raise AssertionError("a span beyond all that were found")


def _number(starts: Int64Array, place: Place) -> int:
    if place.number is not None:
        return place.number % len(starts)
    if place.before_ns is not None:
        return (int(np.searchsorted(starts, place.before_ns)) - 1) % len(starts)
    return int(np.searchsorted(starts, place.from_ns or 0)) % len(starts)
