"""The `dataPipeline` value of a trace, checked."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from annotate.trace_format import FORMAT_VERSION, METADATA_KEY, Mode
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_SETTINGS, MOST_WORKERS, over
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import (
    UNKNOWN_NS,
    BatchCosts,
    BatchTable,
    HostInfo,
    LoaderInfo,
    PipelineInfo,
    ThreadCosts,
    WorkerProcess,
)
from tb_dataplugin.reader.decimals import LONGEST_NS

MOST_US: Final = 9e15
"""A later time does not fit into 64 bits of nanoseconds."""

Count = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Total = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Time = Annotated[float, msgspec.Meta(ge=-MOST_US, le=MOST_US)]
Times = list[Time | None]


class _Overhead(msgspec.Struct):
    marker_us: Time | None = None
    marker_count: Count | None = None
    worker_span_us: Time | None = None
    worker_span_count: Count | None = None


class _Worker(msgspec.Struct):
    loader: Count
    worker: Count
    pid: Count
    started_us: Time
    ended_us: Time | None = None
    dropped_spans: Count = 0
    torch_threads: Count | None = None
    cv2_threads: Count | None = None
    omp_threads: Count | None = None


class _Batches(msgspec.Struct):
    loader: list[Count] = []
    epoch: list[Count] = []
    batch: list[Count] = []
    worker: list[Count] = []
    pid: list[Count] = []
    drawn_us: Times = []
    started_us: Times = []
    finished_us: Times = []
    serialise_us: Times = []
    serialised_us: Times = []
    deserialise_us: Times = []
    arrived_us: Times = []
    consumed_us: Times = []


_SINCE_VERSION_2: Final = ("serialise_us", "serialised_us", "deserialise_us")


class _Costs(msgspec.Struct):
    process_cpu_us: Times = []
    run_delay_us: Times = []
    voluntary_switches: list[Total | None] = []
    involuntary_switches: list[Total | None] = []
    read_chars: list[Total | None] = []
    read_bytes: list[Total | None] = []
    major_faults: list[Total | None] = []
    gc_us: Times = []


class _ThreadCosts(msgspec.Struct):
    cpu_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]
    run_delay_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]
    gc_us: Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] | None = None


class _Metadata(msgspec.Struct):
    mode: Mode
    version: int = FORMAT_VERSION
    loaders: tuple[LoaderInfo, ...] = ()
    host: HostInfo = HostInfo()
    versions: dict[str, str] = {}
    overhead: _Overhead = msgspec.field(default_factory=_Overhead)
    dropped_spans: Count | None = None
    workers: tuple[_Worker, ...] = ()
    batches: _Batches | None = None
    batch_costs: _Costs | None = None
    training_thread: _ThreadCosts | None = None
    notes: tuple[str, ...] = ()


def read_pipeline_info(value: object, origin_ns: int, found: DiagnosticsCollector) -> PipelineInfo | None:
    """None when the trace was not written by annotate, or says nothing that can be understood.

    `origin_ns` is the `ts` of the trace's first event, from which its times are counted.
    """
    if value is None:
        return None
    try:
        told = msgspec.convert(value, _Metadata)
        _check_settings(told.loaders, told.host)
    except msgspec.ValidationError as error:
        found.add("bad_metadata", f"`{METADATA_KEY}` cannot be understood ({error}); the trace is read without it")
        return None
    if told.version > FORMAT_VERSION:
        message = f"The capture has format version {told.version}, this is {FORMAT_VERSION}: upgrade tb-dataplugin"
        found.add("newer_format", message)
    batches = _batches(told.batches, origin_ns, found) if told.batches else None
    told.workers = told.workers[: _bounded("workers", len(told.workers), MOST_WORKERS, found)]
    told.loaders = told.loaders[: _bounded("loaders", len(told.loaders), MOST_SETTINGS, found)]
    told.notes = told.notes[: _bounded("notes", len(told.notes), MOST_SETTINGS, found)]
    versions = sorted(told.versions.items())
    return PipelineInfo(
        mode=told.mode,
        loaders=told.loaders,
        host=told.host,
        versions=tuple(versions[: _bounded("versions", len(versions), MOST_SETTINGS, found)]),
        marker_us=told.overhead.marker_us,
        marker_count=told.overhead.marker_count,
        worker_span_us=told.overhead.worker_span_us,
        worker_span_count=told.overhead.worker_span_count,
        dropped_spans=told.dropped_spans,
        workers=tuple(_worker(worker, origin_ns) for worker in told.workers),
        batches=batches,
        batch_costs=_costs(told.batch_costs, len(batches), found) if told.batch_costs and batches else None,
        training_thread=_thread_costs(told.training_thread) if told.training_thread else None,
        notes=told.notes,
    )


def _bounded(what: str, count: int, most: int, found: DiagnosticsCollector) -> int:
    """How many are looked at."""
    if count > most:
        over(
            found,
            what,
            count - most,
            f"The capture tells of {count:,} {what}; those after the first {most:,} are left out",
        )
    return most


def _thread_costs(told: _ThreadCosts) -> ThreadCosts:
    collecting = None if told.gc_us is None else round(told.gc_us * 1e3)
    return ThreadCosts(round(told.cpu_us * 1e3), round(told.run_delay_us * 1e3), collecting)


def _check_settings(loaders: tuple[LoaderInfo, ...], host: HostInfo) -> None:
    """Raises ValidationError for numbers that no machine has."""
    counts = (one for loader in loaders for one in (loader.batch_size, loader.num_workers, loader.prefetch_factor))
    for count in (*counts, host.cores, host.torch_threads):
        if count is not None and not 0 <= count < 2**31:
            raise msgspec.ValidationError(f"{count} is out of range")


def _worker(told: _Worker, origin_ns: int) -> WorkerProcess:
    started = round(told.started_us * 1e3) - origin_ns
    return WorkerProcess(
        told.loader,
        told.worker,
        told.pid,
        started,
        told.dropped_spans,
        ended_ns=None if told.ended_us is None else round(told.ended_us * 1e3) - origin_ns,
        torch_threads=told.torch_threads,
        cv2_threads=told.cv2_threads,
        omp_threads=told.omp_threads,
    )


def _batches(told: _Batches, origin_ns: int, found: DiagnosticsCollector) -> BatchTable | None:
    count = len(told.loader)
    columns = [
        getattr(told, name) or ([None] * count if name in _SINCE_VERSION_2 else []) for name in told.__struct_fields__
    ]
    if len({len(column) for column in columns}) != 1:
        found.add("bad_batches", "The columns of the batch records differ in length; the trace is read without them")
        return None
    numbers, times = columns[:5], columns[5:]
    return BatchTable(*map(int64, numbers), *(_times(column, origin_ns, found) for column in times))


def _costs(told: _Costs, count: int, found: DiagnosticsCollector) -> BatchCosts | None:
    columns = {name: getattr(told, name) for name in told.__struct_fields__}
    if any(len(column) not in (0, count) for column in columns.values()):
        found.add("bad_batch_costs", "The columns of the batch costs differ in length; the trace is read without them")
        return None

    def column(name: str, scale: float = 1) -> Int64Array:
        return int64([-1 if one is None else round(one * scale) for one in columns[name] or [None] * count])

    return BatchCosts(
        process_cpu_ns=column("process_cpu_us", 1e3),
        run_delay_ns=column("run_delay_us", 1e3),
        voluntary=column("voluntary_switches"),
        involuntary=column("involuntary_switches"),
        read_chars=column("read_chars"),
        read_bytes=column("read_bytes"),
        major_faults=column("major_faults"),
        gc_ns=column("gc_us", 1e3),
    )


def _times(column: Times, origin_ns: int, found: DiagnosticsCollector) -> Int64Array:
    times = [None if time is None else round(time * 1e3) - origin_ns for time in column]
    absurd = sum(time is not None and abs(time) > LONGEST_NS for time in times)
    found.add("absurd_batch_time", "Absurd times of batches count as unknown", absurd)
    return int64([UNKNOWN_NS if time is None or abs(time) > LONGEST_NS else time for time in times])
