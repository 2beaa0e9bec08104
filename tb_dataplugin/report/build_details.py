"""The part of the report about single stages in depth: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tb_dataplugin.analyses.slow_calls import SlowCall
from tb_dataplugin.analyses.stage_details import Histogram, StageDetail, Trend
from tb_dataplugin.findings.detail_texts import call_line, detail_sentence
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import us


def detail_reports(details: Iterable[StageDetail]) -> Iterator[pb.StageDetail]:
    return map(_detail, details)


def _detail(detail: StageDetail) -> pb.StageDetail:
    return pb.StageDetail(
        name=detail.stage.name,
        count=detail.count,
        mean_us=us(detail.mean_ns),
        p50_us=us(detail.p50_ns),
        p95_us=us(detail.p95_ns),
        max_us=us(detail.max_ns),
        slow_share=detail.slow_share,
        histogram=_histogram(detail.histogram),
        slowest=map(_call, detail.slowest),
        trend=_trend(detail.trend) if detail.trend else None,
        sentence=detail_sentence(detail),
    )


def _histogram(histogram: Histogram) -> pb.Histogram:
    return pb.Histogram(edges_us=map(us, histogram.edges_ns), calls=histogram.calls, logarithmic=histogram.logarithmic)


def _call(call: SlowCall) -> pb.StageCall:
    return pb.StageCall(
        start_us=us(call.start_ns),
        duration_us=us(call.duration_ns),
        span_us=us(call.span_ns),
        self_us=us(call.self_ns),
        loader=call.worker.loader if call.worker else None,
        worker=call.worker.worker if call.worker else None,
        epoch=call.epoch,
        batch=call.batch,
        index=call.index,
        training_thread=call.is_training,
        samples=call.samples,
        line=call_line(call),
        line_samples=call.place_samples,
        blocked_samples=call.blocked,
        files=call.files,
    )


def _trend(trend: Trend) -> pb.StageTrend:
    return pb.StageTrend(
        per=trend.per,
        start_us=map(us, trend.start_ns),
        calls=trend.calls,
        mean_us=map(us, trend.mean_ns),
        max_us=map(us, trend.max_ns),
        batch=trend.batch,
    )
