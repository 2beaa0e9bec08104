"""The `dataPipeline` value of a trace, checked."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Annotated, Final, Literal

import msgspec
import numpy as np

from annotate.trace_format import FORMAT_VERSION, METADATA_KEY, Mode, StepSource
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_PATH, MOST_PATHS, MOST_SETTINGS, MOST_STAGES, MOST_STEPS, MOST_WORKERS, over
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.replayed import Replayed
from tb_dataplugin.model.trace import (
    UNKNOWN_NS,
    BatchCosts,
    BatchTable,
    HandedOver,
    HeadspaceSteps,
    HostInfo,
    LoaderInfo,
    PipelineInfo,
    WorkerProcess,
)
from tb_dataplugin.reader.decimals import LONGEST_NS
from tb_dataplugin.reader.fetched_nothing import batches_fetched
from tb_dataplugin.reader.line_samples import CallerRecord, Lines, read_caller, read_line_samples
from tb_dataplugin.reader.thread_costs import MOST_US, ThreadCostsRecord, maybe_ns, read_thread_costs
from tb_dataplugin.reader.thread_samples import Collections, Samples, read_by_pid, read_collections, read_thread_samples

Count = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Total = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Time = Annotated[float, msgspec.Meta(ge=-MOST_US, le=MOST_US)]
Times = list[Time | None]


class _Overhead(msgspec.Struct):
    marker_us: Time | None = None
    marker_count: Count | None = None
    operator_us: Time | None = None
    own_us_before: list[Time] = []
    heap_bytes: list[Total] = []
    worker_span_us: Time | None = None
    worker_span_count: Count | None = None


def _grown(heap_bytes: list[int]) -> int | None:
    return heap_bytes[1] - heap_bytes[0] if len(heap_bytes) == 2 else None


class _Worker(msgspec.Struct):
    loader: Count
    worker: Count
    pid: Count
    started_us: Time
    init_us: tuple[Time, Time] | None = None
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
    samples: list[Count | None] = []
    elsewhere: list[bool | None] = []


_SINCE_VERSION_2: Final = ("serialise_us", "serialised_us", "deserialise_us", "samples", "elsewhere")


class _Costs(msgspec.Struct):
    process_cpu_us: Times = []
    run_delay_us: Times = []
    voluntary_switches: list[Total | None] = []
    involuntary_switches: list[Total | None] = []
    read_chars: list[Total | None] = []
    read_bytes: list[Total | None] = []
    major_faults: list[Total | None] = []
    gc_us: Times = []
    system_cpu_us: Times = []
    minor_faults: list[Total | None] = []


class _Steps(msgspec.Struct):
    source: StepSource = "profiler"
    boundaries_us: list[Time] = []
    before_us: list[Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]] = []
    asked_s: Annotated[float, msgspec.Meta(gt=0, le=MOST_US)] | None = None
    evaluates: bool | None = None


Elapsed = Annotated[float, msgspec.Meta(ge=0, le=MOST_US)] | None


class _Replayed(msgspec.Struct):
    index: list[Count] = []
    captured_us: list[Elapsed] = []
    typical_us: list[Elapsed] = []
    read_us: list[Elapsed] = []
    storage_share: list[Annotated[float, msgspec.Meta(ge=0, le=1)] | None] = []
    line: list[str] = []
    stage: list[str] = []
    differs: list[list[str]] = []
    cold: list[bool] = []
    files: list[list[str]] = []


Duration = Annotated[float, msgspec.Meta(gt=0, le=MOST_US)]
Durations = Annotated[list[Duration], msgspec.Meta(min_length=2)]


class _Headspace(msgspec.Struct):
    own_us: Durations
    step_us: Durations
    asked: Count = 0
    memory_bytes: Total = 0
    clock: Literal["host", "device"] = "host"


class _HandingOver(msgspec.Struct):
    tensors: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | None = None
    serialise_us: Duration = 0.0
    deserialise_us: Duration = 0.0
    bytes: Total | None = None


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
    training_thread: ThreadCostsRecord | None = None
    thread_samples: Samples | None = None
    collections: Collections | None = None
    collections_elsewhere: Collections | None = None
    cpu_readings: Collections | None = None
    lines: Lines | None = None
    callers: tuple[CallerRecord, ...] = ()
    stages_at: dict[str, str] = {}
    replayed: _Replayed | None = None
    replayed_usual: list[Count] = []
    headspace: _Headspace | None = None
    handing_over: _HandingOver | None = None
    notes: tuple[str, ...] = ()
    steps: _Steps | None = None


def read_pipeline_info(value: object, origin_ns: int, diagnostics: DiagnosticsCollector) -> PipelineInfo | None:
    """None when the trace was not written by annotate, or its record is not valid.

    `origin_ns` is the `ts` from which the trace's times are counted.
    """
    if value is None:
        return None
    try:
        metadata = msgspec.convert(value, _Metadata)
        _check_settings(metadata.loaders, metadata.host)
    except msgspec.ValidationError as error:
        diagnostics.add("bad_metadata", f"`{METADATA_KEY}` is not valid ({error}); the trace is read without it")
        return None
    if metadata.version > FORMAT_VERSION:
        message = f"The capture has format version {metadata.version}, this is {FORMAT_VERSION}: upgrade tb-dataplugin"
        diagnostics.add("newer_format", message)
    batches = _batches(metadata.batches, origin_ns, diagnostics) if metadata.batches else None
    costs = _costs(metadata.batch_costs, len(batches), diagnostics) if metadata.batch_costs and batches else None
    metadata.workers = metadata.workers[: _bounded("workers", len(metadata.workers), MOST_WORKERS, diagnostics)]
    metadata.loaders = metadata.loaders[: _bounded("loaders", len(metadata.loaders), MOST_SETTINGS, diagnostics)]
    metadata.notes = metadata.notes[: _bounded("notes", len(metadata.notes), MOST_SETTINGS, diagnostics)]
    workers = tuple(_worker(worker, origin_ns) for worker in metadata.workers)
    if batches is not None:
        batches, costs = batches_fetched(batches, costs, metadata.loaders, workers)
    versions, steps, sampled = sorted(metadata.versions.items()), metadata.steps, metadata.thread_samples
    return PipelineInfo(
        mode=metadata.mode,
        loaders=tuple(_since(loader, origin_ns / 1e3) for loader in metadata.loaders),
        host=metadata.host,
        versions=tuple(versions[: _bounded("versions", len(versions), MOST_SETTINGS, diagnostics)]),
        marker_us=metadata.overhead.marker_us,
        marker_count=metadata.overhead.marker_count,
        operator_us=metadata.overhead.operator_us,
        own_us_before=tuple(metadata.overhead.own_us_before[:MOST_STEPS]),
        heap_grown_bytes=_grown(metadata.overhead.heap_bytes),
        worker_span_us=metadata.overhead.worker_span_us,
        worker_span_count=metadata.overhead.worker_span_count,
        dropped_spans=metadata.dropped_spans,
        workers=workers,
        batches=batches,
        batch_costs=costs,
        training_thread=read_thread_costs(metadata.training_thread) if metadata.training_thread else None,
        thread_samples=read_thread_samples(sampled, origin_ns, diagnostics) if sampled else None,
        collections=read_collections(metadata.collections, origin_ns),
        collections_elsewhere=read_collections(metadata.collections_elsewhere, origin_ns),
        cpu_readings=read_by_pid(metadata.cpu_readings, origin_ns),
        lines=read_line_samples(metadata.lines, origin_ns, diagnostics) if metadata.lines else None,
        callers=tuple(map(read_caller, metadata.callers[:MOST_SETTINGS])),
        stages_at=tuple(sorted(metadata.stages_at.items())[:MOST_STAGES]),
        replayed=_replayed(metadata.replayed, diagnostics) if metadata.replayed else (),
        replayed_usual=tuple(metadata.replayed_usual[:MOST_SETTINGS]),
        headspace=_headspace(metadata.headspace) if metadata.headspace else None,
        handed_over=_handed_over(metadata.handing_over) if metadata.handing_over else None,
        notes=metadata.notes,
        steps_before_us=tuple(steps.before_us[-MOST_STEPS:]) if steps else (),
        asked_s=steps.asked_s if steps else None,
        step_source=steps.source if steps else "profiler",
        evaluates=steps.evaluates if steps else None,
        step_boundaries_ns=_boundaries(steps, origin_ns, diagnostics) if steps else None,
    )


def _boundaries(steps: _Steps, origin_ns: int, diagnostics: DiagnosticsCollector) -> Int64Array | None:
    """In order, and each once."""
    times = _times(list(steps.boundaries_us), origin_ns, diagnostics)
    times = np.unique(times[times != UNKNOWN_NS])
    times = times[: 1 + _bounded("steps", len(times), MOST_STEPS, diagnostics)]
    return times if len(times) > 1 else None


def _bounded(what: str, count: int, most: int, diagnostics: DiagnosticsCollector) -> int:
    """How many are read."""
    if count > most:
        message = f"The capture lists {count:,} {what}; only the first {most:,} are read"
        over(diagnostics, what, count - most, message)
    return most


def _headspace(record: _Headspace) -> HeadspaceSteps:
    own, served = (
        tuple(max(1, round(time * 1e3)) for time in times[:MOST_STEPS]) for times in (record.own_us, record.step_us)
    )
    return HeadspaceSteps(own, served, record.asked, record.memory_bytes, record.clock)


def _handed_over(record: _HandingOver) -> HandedOver | None:
    """None where its parts were left out, as earlier versions of `anonymise` did."""
    if record.tensors is None:
        return None
    serialise, deserialise = (round(time * 1e3) for time in (record.serialise_us, record.deserialise_us))
    return HandedOver(serialise, deserialise, record.bytes, record.tensors)


def _replayed(columns: _Replayed, diagnostics: DiagnosticsCollector) -> tuple[Replayed, ...]:
    count = len(columns.index)
    lengths = {len(column) for column in (columns.captured_us, columns.cold, columns.files)}
    newer = (columns.typical_us, columns.read_us, columns.storage_share, columns.line, columns.stage, columns.differs)
    lengths |= {len(column) or count for column in newer}
    if lengths != {count}:  # earlier captures have none of the latter
        diagnostics.add("bad_replayed", "The columns of the replayed samples differ in length; they are left out")
        return ()
    most = _bounded("replayed samples", count, MOST_SETTINGS, diagnostics)
    typical, read, line = columns.typical_us or [None] * count, columns.read_us or [None] * count, columns.line
    rows = zip(columns.index, columns.captured_us, columns.cold, columns.files, typical, read, strict=True)
    return tuple(
        Replayed(
            index,
            maybe_ns(captured),
            cold,
            tuple(path[:MOST_PATH] for path in files[:MOST_PATHS]),
            maybe_ns(usual),
            maybe_ns(reading),
            columns.storage_share[row] if columns.storage_share else None,
            line[row][:MOST_PATH] if line else "",
            columns.stage[row][:MOST_PATH] if columns.stage else "",
            tuple(text[:MOST_PATH] for text in columns.differs[row][:MOST_PATHS]) if columns.differs else (),
        )
        for row, (index, captured, cold, files, usual, reading) in enumerate(islice(rows, most))
    )


def _check_settings(loaders: tuple[LoaderInfo, ...], host: HostInfo) -> None:
    """Raises ValidationError for numbers that no machine has."""
    settings = ("batch_size", "num_workers", "prefetch_factor")
    counts = (getattr(loader, name) for loader in loaders for name in settings)
    for count in (*counts, host.cores, host.torch_threads):
        if count is not None and not 0 <= count < 2**31:
            raise msgspec.ValidationError(f"{count} is out of range")
    times = (time for loader in loaders for span in (*loader.passes_us, *loader.passes_ts_us) for time in span)
    if not all(time is None or abs(time) <= MOST_US for time in times):
        raise msgspec.ValidationError("a time is out of range")


def _since(loader: LoaderInfo, origin_us: float) -> LoaderInfo:
    """With its passes counted from `origin_us`."""
    passes = ((began - origin_us, None if ended is None else ended - origin_us) for began, ended in loader.passes_ts_us)
    return replace(loader, passes_ts_us=tuple(passes)) if loader.passes_ts_us else loader


def _window(times_us: tuple[float, float], origin_ns: int) -> Window:
    began, ended = (round(time * 1e3) - origin_ns for time in times_us)
    return Window(began, max(began, ended))


def _worker(record: _Worker, origin_ns: int) -> WorkerProcess:
    started = round(record.started_us * 1e3) - origin_ns
    return WorkerProcess(
        record.loader,
        record.worker,
        record.pid,
        started,
        record.dropped_spans,
        init_ns=None if record.init_us is None else _window(record.init_us, origin_ns),
        ended_ns=None if record.ended_us is None else round(record.ended_us * 1e3) - origin_ns,
        torch_threads=record.torch_threads,
        cv2_threads=record.cv2_threads,
        omp_threads=record.omp_threads,
    )


def _batches(records: _Batches, origin_ns: int, diagnostics: DiagnosticsCollector) -> BatchTable | None:
    count = len(records.loader)
    columns = [
        getattr(records, name) or ([None] * count if name in _SINCE_VERSION_2 else [])
        for name in records.__struct_fields__
    ]
    if len({len(column) for column in columns}) != 1:
        message = "The columns of the batch records differ in length; the trace is read without them"
        diagnostics.add("bad_batches", message)
        return None
    numbers, times = columns[:5], columns[5:-2]
    beside = [int64([-1 if value is None else value for value in column]) for column in columns[-2:]]
    moments = [_times(column, origin_ns, diagnostics) for column in times]
    return BatchTable(*map(int64, numbers), *moments, *beside)


def _costs(costs: _Costs, count: int, diagnostics: DiagnosticsCollector) -> BatchCosts | None:
    columns = {name: getattr(costs, name) for name in costs.__struct_fields__}
    if any(len(column) not in (0, count) for column in columns.values()):
        message = "The columns of the batch costs differ in length; the trace is read without them"
        diagnostics.add("bad_batch_costs", message)
        return None

    def column(name: str, scale: float = 1) -> Int64Array:
        return int64([-1 if cost is None else round(cost * scale) for cost in columns[name] or [None] * count])

    return BatchCosts(
        process_cpu_ns=column("process_cpu_us", 1e3),
        run_delay_ns=column("run_delay_us", 1e3),
        voluntary=column("voluntary_switches"),
        involuntary=column("involuntary_switches"),
        read_chars=column("read_chars"),
        read_bytes=column("read_bytes"),
        major_faults=column("major_faults"),
        gc_ns=column("gc_us", 1e3),
        system_cpu_ns=column("system_cpu_us", 1e3),
        minor_faults=column("minor_faults"),
    )


def _times(column: Times, origin_ns: int, diagnostics: DiagnosticsCollector) -> Int64Array:
    times = [None if time is None else round(time * 1e3) - origin_ns for time in column]
    absurd = sum(time is not None and abs(time) > LONGEST_NS for time in times)
    diagnostics.add("absurd_batch_time", "Absurd times of batches count as unknown", absurd)
    return int64([UNKNOWN_NS if time is None or abs(time) > LONGEST_NS else time for time in times])
