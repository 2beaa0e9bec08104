"""A `Trace` to the text of a Chrome trace that is read as the same `Trace`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from annotate.trace_format import ARG_BATCH, ARG_BYTES, ARG_CPU_US, ARG_EPOCH, ARG_FILES, ARG_INDEX
from tb_dataplugin.analyses.launches import Rows
from tb_dataplugin.model.beside_events import CounterSeries
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.trace import Trace, Track
from tb_dataplugin.reader.categories import SPELLED

_FACTS: Final = ((ARG_BYTES, "bytes"), (ARG_INDEX, "index"), (ARG_BATCH, "batch"), (ARG_EPOCH, "epoch"))
_BLOCK_ROWS: Final = 20_000
_LEFT_OUT: Final = "frames left out"


def trace_text(trace: Trace, origin_ns: int, rows: Rows, members: Mapping[str, Any]) -> Iterator[bytes]:
    """In blocks. `rows`: which events, ascending. `members`: what stands beside the events."""
    head = _json(members)[:-1] + (", " if members else "")
    yield (head + '"traceEvents": [\n').encode()
    yield ",\n".join(_first(trace, origin_ns)).encode()
    writer = _RowWriter(trace, origin_ns)
    for at in range(0, len(rows), _BLOCK_ROWS):
        yield "".join(map(writer.line, rows[at : at + _BLOCK_ROWS].tolist())).encode()
    for series in trace.counters:
        yield "".join(_counter(series, origin_ns)).encode()
    yield b"\n]}\n"


def _first(trace: Trace, origin_ns: int) -> Iterator[str]:
    """Names of threads, and how far the trace reaches: events that are left out may stand at its ends. What shows that
    has a name where frames of Python are left out, so that a report of the copy says the same of them.
    """
    extent = trace.extent
    edges = () if extent is None else (extent.start_ns, extent.end_ns)
    category = SPELLED[Category.PYTHON]
    name = _LEFT_OUT if trace.info.has_frames else ""
    for time in edges:
        yield _json({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 0})[:-1] + (
            f', "ts": {_micros(time + origin_ns)}, "dur": 0}}'
        )
    processes = {track.pid: track.process_name for track in trace.tracks if track.process_name}
    for pid, name in processes.items():
        yield _json({"ph": "M", "name": "process_name", "pid": _number(pid), "args": {"name": name}})
    for track in trace.tracks:
        if track.thread_name:
            where = {"pid": _number(track.pid), "tid": _number(track.tid)}
            yield _json({"ph": "M", "name": "thread_name", **where, "args": {"name": track.thread_name}})
    if extent is None and not processes:
        yield _json({"ph": "M", "name": "process_name", "args": {"name": ""}})


class _RowWriter:
    """One line of text per row, each beginning with a comma."""

    def __init__(self, trace: Trace, origin_ns: int) -> None:
        events = trace.events
        self._names = [_json(name) for name in trace.names]
        self._tracks = [_place(track) for track in trace.tracks]
        self._cats = {int(category): _json(text) for category, text in SPELLED.items()}
        self._name, self._track, self._category = events.name, events.track, events.category
        self._device, self._correlation = events.device, events.correlation
        self._start, self._length = events.start_ns + origin_ns, events.end_ns - events.start_ns
        self._facts = _facts(trace)

    def line(self, row: int) -> str:
        args = self._facts.get(row, "")
        if self._correlation[row] >= 0:
            args += f', "correlation": {self._correlation[row]}'
        if self._device[row] >= 0:
            args += f', "device": {self._device[row]}'
        return (
            f',\n{{"ph": "X", "cat": {self._cats[int(self._category[row])]}, "name": {self._names[self._name[row]]}, '
            f'{self._tracks[self._track[row]]}, "ts": {_micros(int(self._start[row]))}, '
            f'"dur": {_micros(int(self._length[row]))}' + (f', "args": {{{args[2:]}}}}}' if args else "}")
        )


def _facts(trace: Trace) -> dict[int, str]:
    """By row, what a recorder wrote beside it, each entry after a comma."""
    facts, found = trace.span_facts, {}
    columns = [(key, getattr(facts, name)) for key, name in _FACTS]
    known = np.flatnonzero((facts.cpu_ns >= 0) | np.any([column >= 0 for _, column in columns], axis=0))
    for at in sorted({*known.tolist(), *facts.files}):
        text = f', "{ARG_CPU_US}": {int(facts.cpu_ns[at]) / 1e3!r}' if facts.cpu_ns[at] >= 0 else ""
        text += "".join(f', "{key}": {column[at]}' for key, column in columns if column[at] >= 0)
        if at in facts.files:
            text += f', "{ARG_FILES}": {_json(list(facts.files[at]))}'
        found[int(trace.stage_spans.row[at])] = text
    for row, size in zip(trace.copies.row.tolist(), trace.copies.bytes.tolist(), strict=True):
        if size >= 0 and row not in found:
            found[row] = f', "{ARG_BYTES}": {size}'
    return found


def _counter(series: CounterSeries, origin_ns: int) -> Iterator[str]:
    name, key = _json(series.counter), _json(series.series)
    for time, value in zip(series.time_ns.tolist(), series.value.tolist(), strict=True):
        args = f"{{{key}: {value!r}}}"
        yield f',\n{{"ph": "C", "name": {name}, "pid": 0, "ts": {_micros(time + origin_ns)}, "args": {args}}}'


def _place(track: Track) -> str:
    return f'"pid": {_json(_number(track.pid))}, "tid": {_json(_number(track.tid))}'


def _number(text: str) -> int | str:
    """As most writers have it, where it is read as the same text."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 and str(int(text)) == text else text


def _micros(time_ns: int) -> str:
    """Exactly."""
    sign, time_ns = ("-", -time_ns) if time_ns < 0 else ("", time_ns)
    whole, rest = divmod(time_ns, 1000)
    return f"{sign}{whole}.{rest:03d}" if rest else f"{sign}{whole}"


def _json(value: object) -> str:
    return json.dumps(value)
