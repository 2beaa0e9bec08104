"""Kineto's rows to columns: categories of every era, exact times, devices, threads.

Which spelling came when: `Operator`, `Kernel`, `Memcpy`, `Memset`, `Runtime` in torch 1.8 to 1.11; lower case since
1.12; `cuda_driver`, `cuda_sync` and the MTIA and XPU names since 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category, EventTable
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import DeviceInfo, SpanFacts, Trace, TraceInfo, Track
from tb_dataplugin.reader import chrome, discovery, source
from tb_dataplugin.reader.annotations import find_meanings
from tb_dataplugin.reader.decimals import nanoseconds
from tb_dataplugin.reader.pipeline_info import read_pipeline_info

_SPELLINGS: dict[Category, tuple[str, ...]] = {
    Category.CPU_OP: ("cpu_op", "operator"),
    Category.USER_ANNOTATION: ("user_annotation", "user"),
    Category.RUNTIME: (
        "runtime", "cuda_runtime", "cuda_driver", "mtia_runtime", "xpu_runtime", "xpu_driver",
        "privateuse1_runtime", "privateuse1_driver", "glow_runtime",
    ),
    Category.KERNEL: ("kernel", "mtia_ccp_events", "collective_comm"),
    Category.MEMCPY: ("memcpy", "gpu_memcpy"),
    Category.MEMSET: ("memset", "gpu_memset"),
    Category.DEVICE_ANNOTATION: ("gpu_user_annotation",),
    Category.DEVICE_SYNC: ("cuda_sync", "xpu_sync", "cuda_event"),
    Category.PYTHON: ("python_function",),
    Category.OVERHEAD: ("overhead",),
    Category.PROFILER: ("trace",),
}  # fmt: skip
CATEGORIES = {spelling: category for category, spellings in _SPELLINGS.items() for spelling in spellings}

NO_TEXT = ""


def read_trace(path: Path, name: str | None = None) -> Trace:
    """Read and name the trace in `path`. `name` is what the report calls it. Raises UnreadableTrace."""
    return trace_from_json(source.read_bytes(path), path, name)


def trace_from_json(text: bytes, path: Path, name: str | None = None) -> Trace:
    """The trace in `text`; `path` is where it came from. Raises UnreadableTrace."""
    rows = chrome.parse(text, path)
    found = DiagnosticsCollector()
    columns = _columns(rows, found)
    events, names = columns.events, columns.names
    meanings = find_meanings(events, names)
    info = TraceInfo(
        file=str(path),
        name=discovery.strip_suffix(path.name) if name is None else name,
        devices=_devices(rows.device_properties),
        pipeline=read_pipeline_info(rows.pipeline, columns.origin_ns, found),
        single_process_loader=meanings.single_process,
        **_whereabouts(rows),
    )
    if not len(events):
        found.add("no_events", "The trace has no timed events: the profiler recorded nothing; was a step run in it?")
    return Trace(
        info=info,
        events=events,
        names=names,
        tracks=columns.tracks,
        steps=meanings.steps,
        stage_spans=meanings.stage_spans,
        span_facts=columns.facts(meanings.stage_spans.row),
        training_track=meanings.training_track,
        diagnostics=found.result(),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """`facts(rows)` reads what a recorder wrote beside the spans in those rows of `events`."""

    events: EventTable
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    origin_ns: int
    facts: Callable[[npt.NDArray[np.intp]], SpanFacts]


def _columns(rows: chrome.ChromeTrace, found: DiagnosticsCollector) -> _Columns:
    timed = [row for row in rows.events if row.ph == "X"]
    start, has_start = nanoseconds([bytes(row.ts) for row in timed])
    length, has_length = nanoseconds([bytes(row.dur) for row in timed])
    found.add("event_without_start", "Events without a readable `ts` were left out", int((~has_start).sum()))
    found.add("event_without_duration", "Events without a readable `dur` count as empty", int((~has_length).sum()))
    if not has_start.all():
        timed = [row for row, good in zip(timed, has_start.tolist(), strict=True) if good]
        start, length = start[has_start], length[has_start]
    length = np.maximum(length, 0)
    origin = int(start.min()) if len(start) else 0

    name_of, track_of = _Numbering(), _Numbering()
    categories = np.array([_category(row.cat) for row in timed], dtype=np.int8)
    table = EventTable(
        start_ns=start - origin,
        end_ns=start - origin + length,
        name=np.array([name_of.number(_text(row.name)) for row in timed], dtype=np.int32),
        category=categories,
        track=np.array([track_of.number((_text(row.pid), _text(row.tid))) for row in timed], dtype=np.int32),
        device=_device_column(timed, categories),
        correlation=_correlation_column(timed),
    )
    tracks = _tracks(track_of.keys, rows.events)
    return _Columns(table, tuple(name_of.keys), tracks, origin, lambda chosen: _facts(timed, chosen))


def _facts(timed: list[chrome.RawEvent], chosen: npt.NDArray[np.intp]) -> SpanFacts:
    args = [timed[row].args for row in chosen.tolist()]

    def column(name: str) -> Int64Array:
        return int64([-1 if own is None else _integer(getattr(own, name), -1) for own in args])

    cpu = [-1 if own is None or not isinstance(own.cpu_us, (int, float)) else round(own.cpu_us * 1e3) for own in args]
    return SpanFacts(int64(cpu), column("bytes"), column("index"), column("batch"), column("epoch"))


class _Numbering:
    """Gives each new key the next number."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any) -> int:
        number = self._numbers.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        return number


def _category(spelling: object) -> int:
    return CATEGORIES.get(spelling.lower(), Category.OTHER) if isinstance(spelling, str) else Category.OTHER


def _text(value: object) -> str:
    return value if isinstance(value, str) else NO_TEXT if value is None else str(value)


def _integer(value: object, otherwise: int) -> int:
    """Ids are written as integers, as decimal text, or as hexadecimal text (ROCm)."""
    if isinstance(value, int):
        return value if abs(value) < 2**63 else otherwise
    if isinstance(value, str):
        try:
            return _integer(int(value, 0), otherwise)
        except ValueError:
            return otherwise
    return otherwise


def _device_column(timed: list[chrome.RawEvent], categories: np.ndarray[Any, np.dtype[np.int8]]) -> Any:
    """Device ids: `args.device`, else the row's pid, which is the device's number on device rows."""
    column = np.full(len(timed), -1, dtype=np.int32)
    for i in np.flatnonzero(np.isin(categories, [int(category) for category in DEVICE_ACTIVITY])).tolist():
        row = timed[i]
        own = _integer(row.args.device, -1) if row.args is not None else -1
        column[i] = min(own if own >= 0 else _integer(row.pid, 0), 2**31 - 1)
    return column


def _correlation_column(timed: list[chrome.RawEvent]) -> Int64Array:
    ids = (_integer(row.args.correlation, -1) if row.args is not None else -1 for row in timed)
    return np.fromiter(ids, dtype=np.int64, count=len(timed))


def _tracks(keys: list[tuple[str, str]], events: list[chrome.RawEvent]) -> tuple[Track, ...]:
    processes: dict[str, str] = {}
    threads: dict[tuple[str, str], str] = {}
    for row in events:
        if row.ph != "M" or row.args is None or not isinstance(row.args.name, str):
            continue
        if row.name == "process_name":
            processes[_text(row.pid)] = row.args.name
        elif row.name == "thread_name":
            threads[_text(row.pid), _text(row.tid)] = row.args.name
    return tuple(Track(pid, tid, processes.get(pid, ""), threads.get((pid, tid), "")) for pid, tid in keys)


def _devices(properties: object) -> tuple[DeviceInfo, ...]:
    """Names of devices. The list may lack devices that ran kernels (ROCm), so it is never indexed by device id."""
    if not isinstance(properties, list):
        return ()
    entries = [entry for entry in properties if isinstance(entry, dict)]
    return tuple(DeviceInfo(_integer(entry.get("id"), -1), _text(entry.get("name"))) for entry in entries)


def _whereabouts(rows: chrome.ChromeTrace) -> dict[str, Any]:
    """Rank, world size and host, where the trace tells them."""
    told = rows.distributed_info if isinstance(rows.distributed_info, dict) else {}
    rank, world = _integer(told.get("rank"), -1), _integer(told.get("world_size"), -1)
    return {
        "rank": rank if rank >= 0 else None,
        "world_size": world if world > 0 else None,
        "host": _text(rows.host_name),
    }
