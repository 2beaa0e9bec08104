"""Fills the report from the results of the analyses: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.chains import ChainFinder
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.evidence import Evidence
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.analyses.stage_blocks import StageBlocks
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.throughput import Throughput, main_loader
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Diagnostic, Unavailable
from tb_dataplugin.findings import Abstention, Finding, Verdict
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import PipelineInfo, Trace
from tb_dataplugin.options import AnalysisOptions
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_devices import causes_at, device_diagnostics, device_report, idle_by_cause
from tb_dataplugin.report.build_evidence import copies_report, copy_diagnostics, evidence_diagnostics, evidence_report
from tb_dataplugin.report.build_workers import workers_report


@dataclass(frozen=True, slots=True)
class Results:
    """What the analyses found in one trace."""

    window: Window
    steps: Steps | Unavailable
    devices: tuple[DeviceIdle, ...] | Unavailable
    loader: LoaderWait | Unavailable
    attribution: Attribution
    tree: StageTree
    stages: tuple[StageRow, ...] | Unavailable
    stage_blocks: Mapping[Path, StageBlocks]
    workers: Workers | Unavailable
    slow_samples: tuple[SlowSample, ...]
    throughput: Throughput | Unavailable
    evidence: Evidence
    verdict: Verdict
    findings: tuple[Finding, ...]
    abstained: tuple[Abstention, ...]


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
        devices=_devices(trace, results, options),
        loader=_loader(trace, results),
        stages=() if isinstance(results.stages, Unavailable) else _stages(results.stages, results),
        **_worker_parts(results),
        **evidence_report(results.evidence),
        throughput=None if isinstance(results.throughput, Unavailable) else _throughput(results.throughput),
        verdict=_verdict(results.verdict),
        findings=map(_finding, results.findings),
        abstained=(pb.Abstention(rule=one.rule, reason=one.reason) for one in results.abstained),
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
    causes = idle_by_cause(results.attribution, steps)
    busy = None if isinstance(results.devices, Unavailable) else results.devices[0].busy
    at_work = None if busy is None else busy.overlap(steps.start_ns, steps.end_ns).tolist()
    for i, (number, start, duration) in enumerate(
        zip(steps.number.tolist(), steps.start_ns.tolist(), steps.duration_ns.tolist(), strict=True)
    ):
        step = pb.Step(number=number, start_us=_us(start), duration_us=_us(duration))
        if data_wait is not None:
            step.data_wait_us = _us(data_wait[i])
        if at_work is not None:
            waited = causes["data_wait"][i] if "data_wait" in causes else None
            step.device_busy_us = _us(at_work[i])
            if waited is not None:
                step.idle_data_wait_us = _us(waited)
            step.idle_other_us = _us(duration - at_work[i] - (waited or 0))
            step.idle_by_cause_us.CopyFrom(causes_at(causes, i))
        yield step


def _devices(trace: Trace, results: Results, options: AnalysisOptions) -> Iterator[pb.Device]:
    if isinstance(results.devices, Unavailable):
        return
    told = zip(results.devices, results.attribution.devices, results.evidence.copies, strict=True)
    for device, blamed, copies in told:
        finder = ChainFinder(trace, results.tree, results.loader, results.workers, device, blamed)
        report = device_report(device, blamed, finder, results.steps, options.max_gaps)
        if copies is not None:
            report.h2d.CopyFrom(copies_report(copies))
        yield report


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


def _stages(rows: Iterable[StageRow], results: Results) -> Iterator[pb.Stage]:
    for row in rows:
        stage, block = _stage(row, results.evidence), results.stage_blocks[row.path]
        stage.block_worker.extend(block.worker.tolist())
        stage.block_count.extend(block.count.tolist())
        stage.block_self_us.extend((block.self_ns / 1e3).tolist())
        if block.cpu_ns is not None:
            stage.block_cpu_us.extend((block.cpu_ns / 1e3).tolist())
        yield stage


def _stage(row: StageRow, evidence: Evidence) -> pb.Stage:
    spent = evidence.occupancy.get(row.path)
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
        cpu_self_us=_maybe_us(row.cpu_self_ns),
        run_delay_us=_maybe_us(spent.run_delay_ns) if spent else None,
        limited_by=(spent.limited_by or "") if spent else "",
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
        load_per_s=rates.load,
        slowest_part=rates.slowest_part or "",
        device_per_s=rates.device,
    )


def _evidence(lines: Iterable[str]) -> Iterator[pb.Evidence]:
    return (pb.Evidence(text=line) for line in lines)


def _verdict(verdict: Verdict) -> pb.Verdict:
    return pb.Verdict(bound=verdict.bound, sentence=verdict.sentence, evidence=_evidence(verdict.evidence))


def _finding(finding: Finding) -> pb.Finding:
    return pb.Finding(
        rule=finding.rule,
        severity=finding.severity,
        title=finding.title,
        advice=finding.advice,
        stage=finding.stage,
        gain_us_per_step=finding.gain_us_per_step,
        evidence=_evidence(finding.evidence),
        code=finding.code,
        confidence=finding.confidence,
        confidence_reason=finding.confidence_reason,
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
    yield from device_diagnostics(results.attribution.devices)
    if not isinstance(results.devices, Unavailable):
        yield from copy_diagnostics(results.devices, results.evidence.copies)
    if trace.info.mode == "train":
        yield from evidence_diagnostics(results.evidence, not isinstance(results.workers, Unavailable))
    if results.tree.clipped:
        message = "Stage spans ran past the end of the span they started in; their time is cut there"
        yield Diagnostic("stages", "overlapping_spans", results.tree.clipped, message)
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
    if workers.from_before:
        message = (
            f"The window does not show how its batches were made: all {workers.from_before} had been finished before "
            "it began. Record more steps than num_workers x prefetch_factor, and not the last of an epoch: "
            "annotate.profile(..., active=...)"
        )
        yield Diagnostic("workers", "batches_from_before", 1, message)


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
