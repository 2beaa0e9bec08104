"""Fills the report from results and judgement: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.items import item_of
from tb_dataplugin.analyses.loader_use import first_batches
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sawtooth import Sawtooth
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.step_table import StepRow, StepTable
from tb_dataplugin.analyses.steps import StepSelection
from tb_dataplugin.analyses.throughput import Throughput
from tb_dataplugin.analyses.waits_of_others import come_from_workers
from tb_dataplugin.diagnostics import Diagnostic, Doubt
from tb_dataplugin.findings import Judgement, Sentences
from tb_dataplugin.findings.recording import RecordingCost
from tb_dataplugin.findings.replay_sentences import no_cpu_share
from tb_dataplugin.model.trace import LoaderInfo, PipelineInfo
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_apart import apart_report
from tb_dataplugin.report.build_details import detail_reports
from tb_dataplugin.report.build_devices import device_reports, idle_by_cause
from tb_dataplugin.report.build_findings import abstention_report, finding_report, verdict_report
from tb_dataplugin.report.build_headspace import headspace_report
from tb_dataplugin.report.build_limits import limited_by, thread_samples_report
from tb_dataplugin.report.build_lines import lines_report
from tb_dataplugin.report.build_replayed import replayed_report
from tb_dataplugin.report.build_settings import named_report, other_settings
from tb_dataplugin.report.build_stages import stage_reports, stage_summary_report
from tb_dataplugin.report.build_units import maybe_us, us
from tb_dataplugin.report.build_workers import cost_report, load_report, load_row_report, worker_fields


def build_capture(results: Results, judgement: Judgement) -> pb.Capture:
    info, pipeline, sentences = results.trace.info, results.trace.info.pipeline, judgement.sentences
    stages = list(stage_reports(results, sentences))
    return pb.Capture(
        name=info.name,
        file=info.file,
        mode=info.mode,
        rank=info.rank,
        world_size=info.world_size,
        host=info.host or (pipeline.host.name if pipeline else ""),
        torch_version=dict(pipeline.versions).get("torch", "") if pipeline else "",
        window_us=us(results.window.duration_ns),
        window_start_us=us(results.window.start_ns),
        origin_us=us(info.origin_ns),
        window_unix_us=us(info.unix_ns(results.window.start_ns)),
        steps=_steps(results.steps, results.sawtooth, sentences) if results.steps else None,
        devices=device_reports(results, sentences),
        loader=_loader(results, sentences),
        stages=stages,
        stage_summary=stage_summary_report(results.stage_summary, sentences, stages) if results.stage_summary else None,
        **worker_fields(results, sentences),
        worker_costs=cost_report(results.worker_costs) if results.worker_costs else None,
        host_load=map(load_report, results.load.series if results.load else ()),
        load_rows=map(load_row_report, results.load.rows if results.load else ()),
        throughput=_throughput(results.throughput, sentences) if results.throughput else None,
        verdict=verdict_report(judgement.verdict),
        findings=map(finding_report, judgement.findings),
        findings_sentence=sentences.findings,
        gains_sentence=sentences.gains,
        abstained=map(abstention_report, judgement.abstained),
        diagnostics=map(diagnostic_report, results.diagnostics),
        environment=_environment(pipeline, sentences.recording, whole=results.selection is None) if pipeline else None,
        operators=results.operators,
        doubts=map(_doubt, results.doubts),
        thread_samples=thread_samples_report(results.limits) if results.limits else None,
        lines=_lines(results.lines, results) if results.lines else None,
        replayed_samples=(replayed_report(sample, no_cpu_share(results)) for sample in results.replayed_samples),
        stage_details=detail_reports(results.stage_details),
        selection=_selection(results.selection, sentences) if results.selection else None,
        headspace=headspace_report(results.headspace, sentences.headspace) if results.headspace else None,
    )


def _lines(lines: HotLines, results: Results) -> pb.Lines:
    steps = len(results.steps.rows) if results.steps else None
    limits = results.loop.limits
    collected_us = us(limits.outside.training.gc_ns) if limits and limits.outside else 0.0
    return lines_report(lines, steps, results.window, has_device=bool(results.devices), collected_us=collected_us)


def diagnostic_report(note: Diagnostic) -> pb.Diagnostic:
    return pb.Diagnostic(topic=note.topic, code=note.code, count=note.count, message=note.message, title=note.title)


def _doubt(doubt: Doubt) -> pb.Doubt:
    return pb.Doubt(code=doubt.code, sentence=doubt.sentence)


def _selection(selection: StepSelection, sentences: Sentences) -> pb.StepSelection:
    return pb.StepSelection(
        first=selection.chosen.first,
        last=selection.chosen.last,
        count=selection.count,
        recorded_first=selection.recorded.first,
        recorded_last=selection.recorded.last,
        recorded_count=selection.recorded_count,
        recorded_window_us=us(selection.whole.duration_ns),
        sentence=sentences.selection,
    )


def _steps(table: StepTable, sawtooth: Sawtooth | None, sentences: Sentences) -> pb.Steps:
    return pb.Steps(
        count=len(table.rows),
        mean_us=us(table.mean_ns),
        p50_us=us(table.p50_ns),
        p95_us=us(table.p95_ns),
        items=_step_items(table),
        sawtooth=_sawtooth(sawtooth, sentences) if sawtooth else None,
        gains_of=sentences.gains_of,
        counted=sentences.counted,
        batches_each=sentences.batches_each,
    )


def _step_items(table: StepTable) -> Iterator[pb.Step]:
    return map(_step, table.rows)


def _step(row: StepRow) -> pb.Step:
    return pb.Step(
        number=row.number,
        start_us=us(row.start_ns),
        duration_us=us(row.duration_ns),
        data_wait_us=maybe_us(row.data_wait_ns),
        device_busy_us=maybe_us(row.device_busy_ns),
        idle_data_wait_us=maybe_us(row.idle_data_wait_ns),
        idle_other_us=maybe_us(row.idle_other_ns),
        idle_by_cause_us=None if row.device_busy_ns is None else idle_by_cause(row.idle_by_cause_ns),
        apart_us=us(row.apart_ns) if row.apart_ns else None,
        between_us=us(row.between_ns) if row.between_ns else None,
    )


def _sawtooth(sawtooth: Sawtooth, sentences: Sentences) -> pb.Sawtooth:
    return pb.Sawtooth(
        period=sawtooth.period,
        data_wait_us=us(sawtooth.data_wait_ns),
        share=sawtooth.share,
        steps=sawtooth.steps,
        sentence=sentences.sawtooth,
    )


def _loader(results: Results, sentences: Sentences) -> pb.Loader | None:
    loader, settings = results.loader, results.settings
    if loader is None:
        return None
    by_stage, first = results.attribution.wait_by_stage_ns or {}, first_batches(loader, results.use)
    report = pb.Loader(
        wait_us=us(loader.waits.total_ns),
        wait_count=len(loader.duration_ns),
        exposed_wait_us=maybe_us(loader.exposed_ns),
        hidden_wait_us=maybe_us(loader.hidden_ns),
        first_batch_wait_us=None if first is None else us(first[0]),
        first_batch_count=0 if first is None else first[1],
        first_batch_of=sentences.first_batch_of if first and first[1] else "",
        wait_by_stage_us={name: us(time) for name, time in by_stage.items()},
        wait_p50_us=us(loader.p50_ns),
        wait_max_us=us(loader.max_ns),
        wait_sentence=sentences.wait,
        wait_source=loader.source,
        has_iter=loader.has_iter,
        steady_state=_steady_state(results.steady, sentences) if results.steady else None,
        apart=apart_report(results, sentences.apart) if results.loop.apart else None,
        epochs=results.loop.apart.begun,
        limited_by_us=limited_by(results.limits.data_wait) if results.limits and results.limits.data_wait else None,
        other_settings=other_settings(results),
        named=named_report(results.named) if results.named else None,
    )
    if settings is not None:
        report.MergeFrom(_settings(settings))
        report.item = item_of(results.trace, results.use.main)
    else:
        report.in_workers = come_from_workers(results.trace, loader.waits) or results.trace.info.mixed_loop == "with"
    return report


def _steady_state(steady: SteadyState, sentences: Sentences) -> pb.SteadyState:
    report = pb.SteadyState(
        state=steady.state,
        measured_wait_us=us(steady.measured_ns),
        measured_share=steady.measured_share,
        capacity_per_s=steady.capacity_per_s,
        own_step_us=us(steady.own_step_ns),
        ready_first=steady.ready_first,
        ready_last=steady.ready_last,
        sentence=sentences.steady,
    )
    if steady.wait is not None and steady.share is not None:
        wait, share = steady.wait, steady.share
        report.wait_us, report.wait_low_us, report.wait_high_us = us(wait.value), us(wait.low), us(wait.high)
        report.share, report.share_low, report.share_high = share.value, share.low, share.high
    return report


def _settings(settings: LoaderInfo) -> pb.Loader:
    return pb.Loader(
        num_workers=settings.num_workers,
        batch_size=settings.batch_size,
        prefetch_factor=settings.prefetch_factor,
        pin_memory=settings.pin_memory,
        persistent_workers=settings.persistent_workers,
        in_order=settings.in_order,
        start_method=settings.start_method,
        dataset=settings.dataset,
    )


def _throughput(rates: Throughput, sentences: Sentences) -> pb.Throughput:
    return pb.Throughput(
        samples=rates.samples,
        samples_per_s=rates.reached,
        read_per_s=rates.read,
        prepare_per_s=rates.prepare,
        load_per_s=rates.load,
        around_per_s=rates.around,
        slowest_part=rates.slowest_part or "",
        slowest_text=sentences.slowest_part,
        device_per_s=rates.device,
        samples_per_batch=rates.samples_per_batch,
        item=rates.item,
    )


def _environment(pipeline: PipelineInfo, cost: RecordingCost | None, *, whole: bool) -> pb.Environment:
    """`whole`: of all steps that were recorded; of some of them what recording cost is not known."""
    host = pipeline.host
    return pb.Environment(
        cores=host.cores,
        cpu_quota=host.cpu_quota,
        memory_bytes=host.memory_bytes,
        shm_bytes=host.shm_bytes,
        torch_threads=host.torch_threads,
        versions=dict(pipeline.versions),
        dropped_spans=pipeline.dropped_spans,
        recorder_overhead_us=pipeline.recorder_overhead_us if whole else None,
        marker_count=pipeline.marker_count if whole else None,
        worker_overhead_us=pipeline.worker_overhead_us if whole else None,
        worker_span_count=pipeline.worker_span_count if whole else None,
        recording_cost_us=cost.us if cost else None,
        recording_cost_text=cost.text if cost else "",
    )
