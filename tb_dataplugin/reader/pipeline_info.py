"""The `dataPipeline` value of a trace, checked."""

from __future__ import annotations

import msgspec

from annotate.trace_format import FORMAT_VERSION, METADATA_KEY, Mode
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import (
    UNKNOWN_NS,
    BatchTable,
    HostInfo,
    LoaderInfo,
    PipelineInfo,
    WorkerProcess,
)


class _Overhead(msgspec.Struct):
    marker_us: float | None = None
    marker_count: int | None = None
    worker_span_us: float | None = None
    worker_span_count: int | None = None


class _Worker(msgspec.Struct):
    loader: int
    worker: int
    pid: int
    started_us: float
    dropped_spans: int = 0


Times = list[float | None]


class _Batches(msgspec.Struct):
    loader: list[int] = []
    epoch: list[int] = []
    batch: list[int] = []
    worker: list[int] = []
    pid: list[int] = []
    drawn_us: Times = []
    started_us: Times = []
    finished_us: Times = []
    arrived_us: Times = []
    consumed_us: Times = []


class _Metadata(msgspec.Struct):
    mode: Mode
    version: int = FORMAT_VERSION
    loaders: tuple[LoaderInfo, ...] = ()
    host: HostInfo = HostInfo()
    versions: dict[str, str] = {}
    overhead: _Overhead = msgspec.field(default_factory=_Overhead)
    dropped_spans: int | None = None
    workers: tuple[_Worker, ...] = ()
    batches: _Batches | None = None
    notes: tuple[str, ...] = ()


def read_pipeline_info(value: object, origin_ns: int, found: DiagnosticsCollector) -> PipelineInfo | None:
    """None when the trace was not written by annotate, or says nothing that can be understood.

    `origin_ns` is the `ts` of the trace's first event, from which its times are counted.
    """
    if value is None:
        return None
    try:
        told = msgspec.convert(value, _Metadata)
    except msgspec.ValidationError as error:
        found.add("bad_metadata", f"`{METADATA_KEY}` cannot be understood ({error}); the trace is read without it")
        return None
    if told.version > FORMAT_VERSION:
        message = f"The capture has format version {told.version}, this is {FORMAT_VERSION}: upgrade tb-dataplugin"
        found.add("newer_format", message)
    return PipelineInfo(
        mode=told.mode,
        loaders=told.loaders,
        host=told.host,
        versions=tuple(sorted(told.versions.items())),
        marker_us=told.overhead.marker_us,
        marker_count=told.overhead.marker_count,
        worker_span_us=told.overhead.worker_span_us,
        worker_span_count=told.overhead.worker_span_count,
        dropped_spans=told.dropped_spans,
        workers=tuple(_worker(worker, origin_ns) for worker in told.workers),
        batches=_batches(told.batches, origin_ns, found) if told.batches else None,
        notes=told.notes,
    )


def _worker(told: _Worker, origin_ns: int) -> WorkerProcess:
    started = round(told.started_us * 1e3) - origin_ns
    return WorkerProcess(told.loader, told.worker, told.pid, started, told.dropped_spans)


def _batches(told: _Batches, origin_ns: int, found: DiagnosticsCollector) -> BatchTable | None:
    columns = [getattr(told, name) for name in told.__struct_fields__]
    if len({len(column) for column in columns}) != 1:
        found.add("bad_batches", "The columns of the batch records differ in length; the trace is read without them")
        return None
    numbers, times = columns[:5], columns[5:]
    return BatchTable(*map(int64, numbers), *(_times(column, origin_ns) for column in times))


def _times(column: Times, origin_ns: int) -> Int64Array:
    return int64([UNKNOWN_NS if time is None else round(time * 1e3) - origin_ns for time in column])
