"""All stages together."""

from __future__ import annotations

from tb_dataplugin.analyses.stage_summary import StageSummary, summarise_stages
from tests.tb_dataplugin.analyses.test_workers import one_wait
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder, training_run


def summary_of(builder: TraceBuilder) -> StageSummary:
    summary = results_of(builder).stage_summary
    assert summary is not None
    return summary


def test_self_time_is_that_of_all_stages_by_kind_without_the_waits() -> None:
    summary = summary_of(training_run(2))
    assert summary.by_kind_ns == {"decode": 60_000, "transform": 12_000, "sample": 4_000}
    assert list(summary.by_kind_ns) == ["decode", "transform", "sample"]  # the largest first
    assert summary.self_ns == 76_000 and summary.samples == 2


def test_the_stage_with_the_highest_self_time_is_not_the_longest() -> None:
    summary = summary_of(training_run())
    assert summary.highest is not None and summary.highest.stage.name == "decode::PIL.Image"


def test_data_wait_that_no_stage_caused_is_not_counted() -> None:
    assert summary_of(one_wait()).caused_ns == 25_000  # of 50: 20 in decode, 5 in the rest of the sample


def test_data_wait_by_stage_may_be_unknown() -> None:
    assert summary_of(TraceBuilder().annotated().step(0, 100).stage("transform::Crop", 10, 20)).caused_ns is None


def test_kinds_without_time_of_their_own_are_left_out() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 50)
    builder.stage("sample::Pets", 10, 20).stage("transform::Crop", 10, 20)
    assert summary_of(builder).by_kind_ns == {"transform": 20_000}


def test_only_waits_have_no_highest_stage_and_no_samples() -> None:
    rows = results_of(training_run()).stages
    summary = summarise_stages(tuple(row for row in rows if row.stage.kind == "wait"))
    assert summary is not None and summary.highest is None and summary.samples is None and not summary.by_kind_ns


def test_without_stages_there_is_no_summary() -> None:
    assert summarise_stages(()) is None
