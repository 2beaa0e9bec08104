"""All stages together."""

from __future__ import annotations

from tb_dataplugin.analyses.stage_summary import StagePlaces, StageSummary, summarise_stages
from tests.tb_dataplugin.analyses.test_workers import one_wait
from tests.tb_dataplugin.findings.cases import capture_of, results_of
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


def test_self_time_is_told_by_dataloader_workers_training_thread_and_other_threads() -> None:
    loaders = [{"name": "DataLoader", "num_workers": number} for number in (1, 0)]
    builder = TraceBuilder().annotated(loaders=loaders).worker(0)
    builder.step(0, 1000).wait(0, 200, "wait::DataLoader").wait(300, 50, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 150, 190, {"sample::Pets": (0, 100), "transform::Crop": (20, 30)})
    builder.stage("sample::Cats", 305, 40).stage("decode::PIL.Image", 400, 7, tid=9)
    builder.add("user_annotation", "read::open", 500, 3, pid=100, tid=77)  # a thread of the worker's own code
    assert summary_of(builder).places == StagePlaces(workers=1, in_workers_ns=100_000, in_others_ns=10_000)
    text = capture_of(builder).stage_summary.self_text
    assert text == "100 µs in 1 DataLoader worker, 40.0 µs in the training thread, 10.0 µs in other threads"
