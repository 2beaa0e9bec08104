"""Rows to columns, window by window: what is kept of each event, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from annotate.trace_format import COUNTERS, parse_span_name
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_NAME, over
from tb_dataplugin.model.beside_events import CollectiveFacts, CopyFacts, CounterSeries, SpanFacts
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category, EventTable
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.trace import Track
from tb_dataplugin.reader.categories import (
    LINKED,
    MTIA_COPY,
    NO_EXTENT,
    NOT_KEPT,
    category_of,
    integers,
    selector,
    text,
)
from tb_dataplugin.reader.collectives import CollectiveNotes, is_collective
from tb_dataplugin.reader.counters import CounterBuilder
from tb_dataplugin.reader.decimals import LONGEST_NS, nanoseconds
from tb_dataplugin.reader.decoding import RawEvent
from tb_dataplugin.reader.decoding import Window as RawWindow
from tb_dataplugin.reader.facts import FactTable, Rows
from tb_dataplugin.reader.pairs import PAIRED, PairMaker

Int8Array = npt.NDArray[np.int8]
Int32Array = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_IS_KEPT, _HAS_EXTENT = ~selector(NOT_KEPT), ~selector(NO_EXTENT)
_IS_LINKED, _IS_DEVICE = selector(LINKED), selector(DEVICE_ACTIVITY)

MOST_DEVICE = 2**31 - 1

_BELOW = frozenset({"M", "C"})
_TAIL = 1000
"""Events at a file's end that are looked at for those."""
_NOTABLE = PAIRED | _BELOW
"""Phases other than whole spans that are looked at. Not flows and instants: they are half of many a trace."""


def _is_device(event: RawEvent) -> bool:
    return event.ph == "X" and category_of(event.cat) in DEVICE_ACTIVITY


@dataclass(frozen=True, slots=True)
class Columns:
    """`facts(rows)` reads what a recorder wrote beside the spans in those rows of `events`, -1 where it did not.

    `origin_ns`: the file's own time of what is 0 in the columns. `has_frames`: of Python, which are not kept.
    """

    events: EventTable
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    copies: CopyFacts
    collectives: CollectiveFacts
    counters: tuple[CounterSeries, ...]
    extent: Window | None
    origin_ns: int
    has_frames: bool
    facts: Callable[[Rows], SpanFacts]


class Numbering(dict[Any, int]):
    """Gives each new key the next number; `ordered` has them by number."""

    def __init__(self) -> None:
        super().__init__()
        self.ordered: list[Any] = []

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self.ordered)
        self.ordered.append(key)
        return number

    def column(self, keys: Iterable[Any]) -> Int32Array:
        return np.array(list(map(self.__getitem__, keys)), dtype=np.int32)


class _Lookup:
    """What each key of a numbering means, as a table that grows with it."""

    def __init__(self, numbering: Numbering, meaning: Callable[[Any], int]) -> None:
        self._numbering, self._meaning = numbering, meaning
        self._table = np.zeros(0, dtype=np.int8)

    def __getitem__(self, numbers: Int32Array) -> Int8Array:
        new = self._numbering.ordered[len(self._table) :]
        if new:
            self._table = np.concatenate((self._table, np.array([self._meaning(key) for key in new], dtype=np.int8)))
        return self._table[numbers]


class ColumnBuilder:
    """Takes windows, gives columns. Times in it are the file's own; `columns` makes them count from the first event
    besides the profiler's own span, and others that show nothing recorded (`NO_EXTENT`).
    """

    def __init__(self, diagnostics: DiagnosticsCollector) -> None:
        self._diagnostics = diagnostics
        self._names, self._tracks, self._cats = Numbering(), Numbering(), Numbering()
        self._category = _Lookup(self._cats, category_of)
        self._is_stage = _Lookup(self._names, lambda name: parse_span_name(text(name)) is not None)
        self._is_dma = _Lookup(self._names, lambda name: text(name).startswith(MTIA_COPY))
        self._is_collective = _Lookup(self._names, lambda name: is_collective(text(name)))
        self._collectives = CollectiveNotes()
        self._chunks: list[EventTable] = []
        self._row_count = 0
        self._facts, self._counters, self._pairs = FactTable(), CounterBuilder(diagnostics), PairMaker(diagnostics)
        self._processes: dict[str, str] = {}
        self._threads: dict[tuple[str, str], str] = {}
        self._reach: list[int] = []  # starts and ends of events that are not kept
        self._has_frames = False
        self._newest: list[RawEvent] = []

    def add(self, window: RawWindow) -> None:
        self._newest = [*self._newest[-_TAIL:], *window.events] if len(window.events) < _TAIL else window.events
        spans = [event for event in window.events if event.ph == "X"]
        if len(spans) < len(window.events):
            self._add_others(window)
        if spans:
            start, readable = nanoseconds([event.ts for event in spans])
            length, has_length = nanoseconds([event.dur for event in spans])
            self._count("event_without_start", "Events without a readable `ts` were skipped", ~readable)
            timed = has_length & (length >= 0)
            message = "Events without a readable `dur`, or with one below zero, were skipped"
            self._count("event_without_duration", message, readable & ~timed)
            self._add_spans(spans, start, length, readable & timed)

    def ends_in_devices(self) -> bool:
        """Whether there is device activity, and nothing was read of what stands below it in a file: names of threads,
        counters. Of a file that is cut off, more of it may be missing then.
        """
        if not any(_IS_DEVICE[chunk.category].any() for chunk in self._chunks):
            return False
        last = next((event for event in reversed(self._newest) if event.ph in _BELOW or _is_device(event)), None)
        return last is None or _is_device(last)

    def _count(self, code: str, message: str, rows: Mask) -> None:
        self._diagnostics.add(code, message, int(np.count_nonzero(rows)))

    def _add_others(self, window: RawWindow) -> None:
        notable = [event for event in window.events if event.ph in _NOTABLE]
        paired = [event for event in notable if event.ph in PAIRED]
        if paired and (pairs := self._pairs.add(paired)):
            spans, starts, lengths = (list(column) for column in zip(*pairs, strict=True))
            self._add_spans(spans, int64(starts), int64(lengths), np.ones(len(spans), dtype=np.bool_))
        for event in notable:
            if event.ph == "M":
                self._add_label(event)
        if any(event.ph == "C" and event.name in COUNTERS for event in notable):
            self._counters.add(window)

    def _add_label(self, event: RawEvent) -> None:
        if event.args is None or not isinstance(event.args.name, str):
            return
        if event.name == "process_name":
            self._processes[text(event.pid)] = event.args.name
        elif event.name == "thread_name":
            self._threads[text(event.pid), text(event.tid)] = event.args.name

    def _add_spans(self, spans: list[RawEvent], start: Int64Array, length: Int64Array, good: Mask) -> None:
        category = self._category[self._cats.column([event.cat for event in spans])]
        if not self._has_frames:  # what only shows how far a pruned trace reached has no name
            self._has_frames = any(spans[row].name for row in np.flatnonzero(category == Category.PYTHON).tolist())
        absurd = good & (length > LONGEST_NS)
        self._count("absurd_time", "Events with absurd times were skipped", absurd)
        good = good & ~absurd
        self._note_reach(good & ~_IS_KEPT[category] & _HAS_EXTENT[category], start, length)
        keep = good & _IS_KEPT[category]
        if not keep.all():
            spans = [spans[row] for row in np.flatnonzero(keep).tolist()]
            category, start, length = category[keep], start[keep], length[keep]
        self._add_kept(spans, category, start, length)

    def _note_reach(self, chosen: Mask, start: Int64Array, length: Int64Array) -> None:
        if chosen.any():
            self._reach += [int(start[chosen].min()), int((start + length)[chosen].max())]

    def _add_kept(self, spans: list[RawEvent], category: Int8Array, start: Int64Array, length: Int64Array) -> None:
        name = self._names.column([event.name for event in spans])
        category[(category == Category.KERNEL) & (self._is_dma[name] > 0)] = Category.MEMCPY
        rows = np.flatnonzero((self._is_stage[name] > 0) | (category == Category.MEMCPY))
        if len(rows):
            self._facts.add(rows + self._row_count, [spans[row] for row in rows.tolist()])
        noted = np.flatnonzero(self._is_collective[name] > 0).tolist()
        self._collectives.add([row + self._row_count for row in noted], [spans[row] for row in noted])
        chunk = EventTable(
            start_ns=start,
            end_ns=start + length,
            name=name,
            category=category,
            track=self._tracks.column([(event.pid, event.tid) for event in spans]),
            device=_device_column(spans, np.flatnonzero(_IS_DEVICE[category])),
            correlation=_correlation_column(spans, np.flatnonzero(_IS_LINKED[category])),
        )
        self._chunks.append(chunk)
        self._row_count += len(chunk)

    def columns(self) -> Columns:
        """All that was added. The builder is spent then."""
        self._pairs.close()
        events = _joined(self._chunks)
        keep = self._plausible(events.start_ns)
        facts, collectives = self._facts.close(keep), self._collectives.close(keep)
        if not keep.all():
            events = events.take(keep)
        first, last = self._extent(events)
        events.start_ns[:] -= first
        events.end_ns[:] -= first
        names = _merge_texts(self._names.ordered, self._name, events.name)
        tracks = _merge_texts(self._tracks.ordered, lambda key: (text(key[0]), text(key[1])), events.track)
        copies = np.flatnonzero(events.category == Category.MEMCPY)
        return Columns(
            events=events,
            names=names,
            tracks=tuple(self._track(pid, tid) for pid, tid in tracks),
            copies=CopyFacts(copies, facts(copies).bytes),
            collectives=collectives,
            counters=self._counters.series(first),
            extent=Window(0, last - first) if len(events) or self._reach else None,
            origin_ns=first,
            has_frames=self._has_frames,
            facts=facts,
        )

    def _name(self, key: Any) -> str:
        name = text(key)
        if len(name) <= MOST_NAME:
            return name
        over(self._diagnostics, "names", 1, f"Names of more than {MOST_NAME:,} characters are cut there")
        return name[:MOST_NAME]

    def _plausible(self, start: Int64Array) -> Mask:
        """Which events are not hopelessly far from the others."""
        if not len(start) or int(start.max()) - int(start.min()) <= LONGEST_NS:
            return np.ones(len(start), dtype=np.bool_)
        keep: Mask = np.abs(start - np.int64(np.partition(start, len(start) // 2)[len(start) // 2])) <= LONGEST_NS
        self._count("absurd_time", "Events with absurd times were skipped", ~keep)
        return keep

    def _extent(self, events: EventTable) -> tuple[int, int]:
        """First start and last end, in the file's time; 0 without any event."""
        reach = self._reach
        if len(events):
            middle = int(events.start_ns[len(events) // 2])
            reach = [time for time in reach if abs(time - middle) <= LONGEST_NS]
            reach = [*reach, int(events.start_ns.min()), int(events.end_ns.max())]
        return min(reach, default=0), max(reach, default=0)

    def _track(self, pid: str, tid: str) -> Track:
        return Track(pid, tid, self._processes.get(pid, ""), self._threads.get((pid, tid), ""))


def _device_column(spans: list[RawEvent], rows: Rows) -> Int32Array:
    """Device ids: `args.device`, else the row's pid, which is the device's number on device rows."""
    column = np.full(len(spans), -1, dtype=np.int32)
    if len(rows):
        chosen = [spans[row] for row in rows.tolist()]
        own = integers([-1 if span.args is None or span.args.device is None else span.args.device for span in chosen])
        lacking = np.flatnonzero(own < 0)
        if len(lacking):
            own[lacking] = np.maximum(integers([chosen[row].pid for row in lacking.tolist()]), 0)
        column[rows] = np.minimum(own, MOST_DEVICE)
    return column


def _correlation_column(spans: list[RawEvent], rows: Rows) -> Int64Array:
    column = np.full(len(spans), -1, dtype=np.int64)
    if len(rows):
        args = [spans[row].args for row in rows.tolist()]
        column[rows] = integers([-1 if own is None or own.correlation is None else own.correlation for own in args])
    return column


def _joined(chunks: list[EventTable]) -> EventTable:
    """One column after the other, so that at most one of them is in memory twice."""
    columns = {field.name: [getattr(chunk, field.name) for chunk in chunks] for field in fields(EventTable)}
    chunks.clear()
    kinds = {"name": np.int32, "category": np.int8, "track": np.int32, "device": np.int32}
    joined: dict[str, Any] = {}
    for name in list(columns):
        parts = columns.pop(name)
        joined[name] = np.concatenate(parts) if parts else np.zeros(0, dtype=kinds.get(name, np.int64))
    return EventTable(**joined)


def _merge_texts(keys: list[Any], as_text: Callable[[Any], Any], column: Int32Array) -> tuple[Any, ...]:
    """The keys as texts, sorted; keys of equal text (1 and "1") become one. `column` then counts among them."""
    texts = [as_text(key) for key in keys]
    ordered = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(ordered)}
    if len(keys):
        column[:] = np.array([numbers[text] for text in texts], dtype=np.int32)[column]
    return tuple(ordered)
