"""Fills the report from the results of the analyses: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_dataplugin.analyses.attribution import Attribution, DeviceAttribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.throughput import Throughput, main_loader
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Diagnostic, Unavailable
from tb_dataplugin.findings import Finding, Verdict
from tb_dataplugin.model.intervals import EMPTY, Window
from tb_dataplugin.model.trace import PipelineInfo, Trace
from tb_dataplugin.options import AnalysisOptions
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_workers import workers_report


@dataclass(frozen=True, slots=True)
class Results:
    """What the analyses found in one trace."""

    window: Window
    steps: Steps | Unavailable
    devices: tuple[DeviceIdle, ...] | Unavailable
    loader: LoaderWait | Unavailable
    attribution: Attribution
    stages: tuple[StageRow, ...] | Unavailable
    workers: Workers | Unavailable
    slow_samples: tuple[SlowSample, ...]
    throughput: Throughput | Unavailable
    verdict: Verdict
    findings: tuple[Finding, ...]
    clipped_spans: int


def build_capture(trace: Trace, results: Results, options: AnalysisOptions) -> pb.Capture:
    pipeline = trace.info.pipeline
    return pb.Capture(
        name=trace.info.name,
        file=trace.info.file,
        mode=trace.info.mode,
        rank=trace.info.rank,
        world_size=trace.info.world_size,
        host=trace.info.host or (pipeline.host.name if pipeline else ""),
        torch_version=dict(pipeline.versions).get("torch", "") if pipeline else "",
        window_us=_us(results.window.duration_ns),
        window_start_us=_us(results.window.start_ns),
        steps=None if isinstance(results.steps, Unavailable) else _steps(results.steps, results),
        devices=() if isinstance(results.devices, Unavailable) else _devices(results, options),
        loader=_loader(trace, results),
        stages=() if isinstance(results.stages, Unavailable) else map(_stage, results.stages),
        **_worker_parts(results),
        throughput=None if isinstance(results.throughput, Unavailable) else _throughput(results.throughput),
        verdict=_verdict(results.verdict),
        findings=map(_finding, results.findings),
        diagnostics=map(_diagnostic, _diagnostics(trace, results)),
        environment=_environment(pipeline) if pipeline else None,
    )


def _us(ns: float) -> float:
    return ns / 1e3


def _maybe_us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3


def _steps(steps: Steps, results: Results) -> pb.Steps:
    duration = steps.duration_ns
    p50, p95 = np.percentile(duration, (50, 95)).tolist()
    return pb.Steps(
        count=len(steps),
        mean_us=_us(float(duration.mean())),
        p50_us=_us(p50),
        p95_us=_us(p95),
        items=_step_items(steps, results),
    )


def _step_items(steps: Steps, results: Results) -> Iterator[pb.Step]:
    waits = None if isinstance(results.loader, Unavailable) else results.loader.waits
    data_wait = None if waits is None else waits.overlap(steps.start_ns, steps.end_ns).tolist()
    device = None if isinstance(results.devices, Unavailable) else results.devices[0]
    if device is not None:
        busy = device.busy.overlap(steps.start_ns, steps.end_ns).tolist()
        idle_wait = device.gaps.intersect(waits or EMPTY).overlap(steps.start_ns, steps.end_ns).tolist()
    for i, (number, start, duration) in enumerate(
        zip(steps.number.tolist(), steps.start_ns.tolist(), steps.duration_ns.tolist(), strict=True)
    ):
        step = pb.Step(number=number, start_us=_us(start), duration_us=_us(duration))
        if data_wait is not None:
            step.data_wait_us = _us(data_wait[i])
        if device is not None:
            step.device_busy_us = _us(busy[i])
            if data_wait is not None:
                step.idle_data_wait_us = _us(idle_wait[i])
            step.idle_other_us = _us(duration - busy[i] - idle_wait[i])
        yield step


def _devices(results: Results, options: AnalysisOptions) -> Iterator[pb.Device]:
    assert not isinstance(results.devices, Unavailable)
    for device, blamed in zip(results.devices, results.attribution.devices, strict=True):
        longest = int(device.gaps.durations.max(initial=0))
        yield pb.Device(
            id=device.device,
            name=device.name,
            busy_us=_us(device.busy.total_ns),
            kernel_busy_us=_us(device.kernel_busy_ns),
            idle_us=_us(device.gaps.total_ns),
            gap_count=len(device.gaps),
            longest_gap_us=_us(longest),
            idle_by_cause_us=pb.IdleByCause(**{cause: _us(time) for cause, time in blamed.by_cause_ns.items()}),
            idle_by_stage_us={stage: _us(time) for stage, time in blamed.by_stage_ns.items()},
            gaps=_gaps(device, blamed, results.steps, options.max_gaps),
        )


def _gaps(device: DeviceIdle, blamed: DeviceAttribution, steps: Steps | Unavailable, most: int) -> Iterator[pb.Gap]:
    duration = device.gaps.durations
    order = np.lexsort((device.gaps.start, -duration))[:most]
    for i in order.tolist():
        start, length, waited = int(device.gaps.start[i]), int(duration[i]), int(blamed.gap_data_wait_ns[i])
        yield pb.Gap(
            start_us=_us(start),
            duration_us=_us(length),
            cause="data_wait" if 2 * waited > length else "unknown",
            stage=blamed.gap_stage[i],
            step=None if isinstance(steps, Unavailable) else _step_at(steps, start),
            data_wait_us=_us(waited) if "data_wait" in blamed.by_cause_ns else None,
        )


def _step_at(steps: Steps, time_ns: int) -> int | None:
    i = int(np.searchsorted(steps.start_ns, time_ns, side="right")) - 1
    return int(steps.number[i]) if i >= 0 and time_ns < steps.end_ns[i] else None


def _loader(trace: Trace, results: Results) -> pb.Loader | None:
    found, settings = results.loader, main_loader(trace)
    if isinstance(found, Unavailable):
        return None
    wait, exposed = found.waits.total_ns, found.exposed
    blame = results.attribution.wait_by_stage_ns
    loader = pb.Loader(
        wait_us=_us(wait),
        wait_count=len(found.duration_ns),
        exposed_wait_us=None if exposed is None else _us(exposed.total_ns),
        hidden_wait_us=None if exposed is None else _us(wait - exposed.total_ns),
        first_batch_wait_us=_maybe_us(found.first_batch_ns),
        wait_by_stage_us={} if isinstance(blame, Unavailable) else {name: _us(time) for name, time in blame.items()},
        wait_p50_us=_us(float(np.percentile(found.duration_ns, 50))),
        wait_max_us=_us(int(found.duration_ns.max())),
    )
    if settings is not None:
        loader.MergeFrom(
            pb.Loader(
                num_workers=settings.num_workers,
                batch_size=settings.batch_size,
                prefetch_factor=settings.prefetch_factor,
                pin_memory=settings.pin_memory,
                persistent_workers=settings.persistent_workers,
                in_order=settings.in_order,
                start_method=settings.start_method,
                dataset=settings.dataset,
            )
        )
    return loader


def _stage(row: StageRow) -> pb.Stage:
    return pb.Stage(
        kind=row.stage.kind,
        label=row.stage.label,
        parent=row.path[-2].name if len(row.path) > 1 else "",
        count=row.count,
        total_us=_us(row.total_ns),
        self_us=_us(row.self_ns),
        p50_us=_us(row.p50_ns),
        p95_us=_us(row.p95_ns),
        max_us=_us(row.max_ns),
        cpu_us=_maybe_us(row.cpu_ns),
        bytes=row.bytes,
        blame_us=_maybe_us(row.blame_ns),
        path=(stage.name for stage in row.path),
    )


def _worker_parts(results: Results) -> dict[str, Any]:
    if isinstance(results.workers, Unavailable):
        return {}
    return workers_report(results.workers, results.slow_samples)


def _throughput(rates: Throughput) -> pb.Throughput:
    return pb.Throughput(
        samples=rates.samples,
        samples_per_s=rates.reached,
        read_per_s=rates.read,
        prepare_per_s=rates.prepare,
        device_per_s=rates.device,
    )


def _verdict(verdict: Verdict) -> pb.Verdict:
    return pb.Verdict(bound=verdict.bound, sentence=verdict.sentence, evidence=verdict.evidence)


def _finding(finding: Finding) -> pb.Finding:
    return pb.Finding(
        rule=finding.rule,
        severity=finding.severity,
        title=finding.title,
        advice=finding.advice,
        stage=finding.stage,
        gain_us_per_step=finding.gain_us_per_step,
        evidence=finding.evidence,
        code=finding.code,
    )


def _diagnostic(found: Diagnostic) -> pb.Diagnostic:
    return pb.Diagnostic(topic=found.topic, code=found.code, count=found.count, message=found.message)


def _diagnostics(trace: Trace, results: Results) -> Iterable[Diagnostic]:
    """What was odd in the file, then what cannot be known, each with its reason."""
    yield from trace.diagnostics
    parts = (results.steps, results.devices, results.loader, results.stages, results.throughput)
    yield from (part.as_diagnostic() for part in parts if isinstance(part, Unavailable))
    yield from _worker_diagnostics(results.workers)
    blame = results.attribution.wait_by_stage_ns
    if isinstance(blame, Unavailable) and not isinstance(results.stages, Unavailable):
        yield blame.as_diagnostic()
    if results.attribution.devices:
        message = "Idle time that does not wait for data is not told apart yet; all of it stands under `unknown`"
        yield Diagnostic("device", "causes_not_told_apart", len(results.attribution.devices), message)
    if results.clipped_spans:
        message = "Stage spans ran past the end of the span they started in; their time is cut there"
        yield Diagnostic("stages", "overlapping_spans", results.clipped_spans, message)
    if trace.info.pipeline:
        yield from (Diagnostic("capture", "capture_note", 1, note) for note in trace.info.pipeline.notes)


def _worker_diagnostics(workers: Workers | Unavailable) -> Iterator[Diagnostic]:
    if isinstance(workers, Unavailable):
        if workers.code == "no_worker_records":
            yield workers.as_diagnostic()
        return
    dropped = sum(one.process.dropped_spans for one in workers.times)
    if dropped:
        message = "Spans of DataLoader workers were dropped at their limit; stage times are too low by those"
        yield Diagnostic("workers", "dropped_spans", dropped, message)
    if workers.clock_violations:
        message = "Batches arrived before their worker had finished them: the clocks disagree, times are off by that"
        yield Diagnostic("workers", "clock_violation", workers.clock_violations, message)


def _environment(pipeline: PipelineInfo) -> pb.Environment:
    host = pipeline.host
    return pb.Environment(
        cores=host.cores,
        cpu_quota=host.cpu_quota,
        memory_bytes=host.memory_bytes,
        shm_bytes=host.shm_bytes,
        torch_threads=host.torch_threads,
        versions=dict(pipeline.versions),
        dropped_spans=pipeline.dropped_spans,
        recorder_overhead_us=_product(pipeline.marker_us, pipeline.marker_count),
        marker_count=pipeline.marker_count,
        worker_overhead_us=_product(pipeline.worker_span_us, pipeline.worker_span_count),
        worker_span_count=pipeline.worker_span_count,
    )


def _product(each: float | None, count: int | None) -> float | None:
    return None if each is None or count is None else each * count
