"""The part of the report about stages: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_dataplugin.analyses.occupancy import Occupancy
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stage_blocks import StageBlocks
from tb_dataplugin.analyses.stage_summary import StageSummary
from tb_dataplugin.analyses.stage_weight import StageWeight
from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.findings import Sentences
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import maybe_us, us
from tb_dataplugin.report.stage_notes import stage_notes


def stage_reports(results: Results, sentences: Sentences) -> Iterator[pb.Stage]:
    pipeline = results.trace.info.pipeline
    places = dict(pipeline.stages_at) if pipeline else {}
    for row in results.stages:
        stage = _stage(row, results.occupancy.get(row.path))
        stage.limited_by_text = sentences.limits.get(row.path, "")
        weight = results.stage_weights.get(row.path)
        if weight is not None:
            stage.MergeFrom(_recorded(weight))
        stage.profiler_text = sentences.stage_profiler.get(row.path, "")
        stage.before_text = sentences.stage_before.get(row.path, "")
        stage.defined_at = places.get(row.stage.name, "")
        stage.for_others = results.for_others.get(row.path, 0)
        blocks = results.stage_blocks.get(row.path)
        if blocks is not None:
            stage.MergeFrom(_blocks(blocks))
        yield stage


def _stage(row: StageRow, spent: Occupancy | None) -> pb.Stage:
    return pb.Stage(
        kind=row.stage.kind,
        label=row.stage.label,
        parent=row.path[-2].name if len(row.path) > 1 else "",
        count=row.count,
        total_us=us(row.total_ns),
        self_us=us(row.self_ns),
        p50_us=us(row.p50_ns),
        p95_us=us(row.p95_ns),
        max_us=us(row.max_ns),
        cpu_us=maybe_us(row.cpu_ns),
        bytes=row.bytes,
        blame_us=maybe_us(row.data_wait_ns),
        path=(stage.name for stage in row.path),
        cpu_self_us=maybe_us(row.cpu_self_ns),
        run_delay_us=maybe_us(spent.run_delay_ns) if spent else None,
        blocked_us=maybe_us(spent.blocked_ns) if spent else None,
        limited_by=(spent.limited_by or "") if spent else "",
    )


def _recorded(weight: StageWeight) -> pb.Stage:
    operators, spans = weight.operators, weight.spans
    return pb.Stage(
        operators=None if operators is None else operators.count,
        spans=None if spans is None else spans.count,
        profiler_us=None if operators is None and spans is None else us(weight.added_ns),
        spans_us=None if spans is None else us(spans.ns),
    )


def _blocks(blocks: StageBlocks) -> pb.Stage:
    return pb.Stage(
        block_worker=blocks.worker.tolist(),
        block_count=blocks.count.tolist(),
        block_self_us=map(us, blocks.self_ns.tolist()),
        block_cpu_us=() if blocks.cpu_ns is None else map(us, blocks.cpu_ns.tolist()),
    )


def stage_summary_report(summary: StageSummary, sentences: Sentences, rows: Sequence[pb.Stage]) -> pb.StageSummary:
    return pb.StageSummary(
        self_us=us(summary.self_ns),
        self_by_kind_us={kind: us(time) for kind, time in summary.by_kind_ns.items()},
        samples=summary.samples,
        sentence=sentences.stages,
        wait_text=sentences.stage_waits,
        self_text=sentences.stage_places,
        note_texts=stage_notes(rows),
    )
