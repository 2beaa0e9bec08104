from __future__ import annotations

import pytest

from annotate.trace_format import Stage
from tb_dataplugin.analyses.stage_details import MOST_POINTS, StageDetail
from tests.lines_run import lines_run
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder


def detail_of(builder: TraceBuilder, stage: Stage) -> StageDetail:
    return next(detail for detail in results_of(builder).stage_details if detail.stage == stage)


def calls_of(*durations: float) -> TraceBuilder:
    """Calls of read::open, one after the other, in one step."""
    builder, at = TraceBuilder().step(0, 2 * sum(durations)), 0.0
    for duration in durations:
        builder.stage("read::open", at, duration)
        at += duration + 1
    return builder


READ = Stage("read", "open")


def test_every_call_is_in_one_bin_and_the_bins_grow_where_durations_differ_by_a_lot() -> None:
    alike, wide = detail_of(calls_of(*range(100, 140)), READ), detail_of(calls_of(*[10] * 30, 1000), READ)
    assert (alike.histogram.logarithmic, wide.histogram.logarithmic) == (False, True)
    for detail in (alike, wide):
        assert sum(detail.histogram.calls) == detail.count
        edges = detail.histogram.edges_ns
        assert len(edges) == len(detail.histogram.calls) + 1
        assert list(edges) == sorted(edges)
        assert edges[-1] >= detail.max_ns
    assert (wide.histogram.calls[0], wide.histogram.calls[-1]) == (30, 1)


def test_calls_of_one_length_are_one_bin() -> None:
    detail = detail_of(calls_of(5, 5, 5), READ)
    assert detail.histogram.calls == (3,)
    assert detail.slow_share is None  # of three calls nothing can be said


def test_a_call_without_a_length_is_counted() -> None:
    assert sum(detail_of(calls_of(0, 5, 5), READ).histogram.calls) == 3


def test_the_share_of_the_slowest_calls() -> None:
    detail = detail_of(calls_of(*[10] * 19, 190), READ)
    assert detail.slow_share == pytest.approx(0.5)


def test_calls_without_a_batch_go_by_time() -> None:
    trend = detail_of(calls_of(*[10] * 30), READ).trend
    assert trend is not None
    assert (trend.per, trend.batch, sum(trend.calls)) == ("time", (), 30)


def test_calls_of_a_batch_are_one_point_by_time() -> None:
    mask = detail_of(lines_run(12), Stage("transform", "RandomMask"))
    assert mask.trend is not None
    assert mask.trend.per == "batch"
    assert list(mask.trend.start_ns) == sorted(mask.trend.start_ns)
    assert len(mask.trend.batch) == len(set(mask.trend.batch)) == sum(mask.trend.calls) == mask.count


def test_many_batches_share_points() -> None:
    trend = detail_of(lines_run(3 * MOST_POINTS), Stage("transform", "RandomMask")).trend
    assert trend is not None
    assert MOST_POINTS / 2 < len(trend.calls) <= MOST_POINTS


def test_the_slowest_calls_name_batch_sample_worker_and_line() -> None:
    mask = detail_of(lines_run(12), Stage("transform", "RandomMask"))
    first = mask.slowest[0]
    assert first.duration_ns == max(call.duration_ns for call in mask.slowest) == mask.max_ns
    assert first.batch is not None and first.worker is not None and first.place is not None
    assert (first.index, first.batch % 5, first.worker.worker) == (first.batch, 4, first.batch % 2)
    assert (first.place.short, first.samples) == ("train.py:41", 80)
    assert 60 < first.place_samples <= 70


def test_what_is_not_known_of_a_call_is_absent() -> None:
    call = capture_of(calls_of(10, 20)).stage_details[0].slowest[0]
    assert not any(call.HasField(name) for name in ("worker", "loader", "batch", "epoch", "index"))
    assert (call.training_thread, call.samples, call.line) == (True, 0, "")


def test_the_spread_in_words() -> None:
    def sentence(builder: TraceBuilder) -> str:
        return capture_of(builder).stage_details[0].sentence

    assert sentence(calls_of(10)) == "1 call of 10.0 µs."
    assert sentence(calls_of(10, 10)) == "2 calls of 10.0 µs each."
    assert sentence(calls_of(10, 30)) == "2 calls, from 10.0 µs to 30.0 µs."
    many = sentence(calls_of(*[10] * 19, 190))
    assert many.startswith("20 calls: half take less than 10.0 µs, 95% less than ")
    assert many.endswith("The slowest 5% take 50.0% of the time.")


def test_a_stage_in_several_places_is_one() -> None:
    builder = TraceBuilder().step(0, 1000).stage("transform::A", 0, 100).stage("read::open", 10, 20)
    builder.stage("read::open", 200, 40)
    detail = detail_of(builder, READ)
    assert (detail.count, detail.max_ns) == (2, 40_000)


def test_a_slow_call_names_the_files_of_the_sample_that_it_is_in() -> None:
    builder = TraceBuilder().step(0, 1000)
    builder.add("user_annotation", "sample::Pets", 0, 400, index=3, files=["/data/3.jpg"])
    builder.stage("read::open", 10, 100)
    builder.add("user_annotation", "sample::Pets", 500, 300, index=4)
    builder.stage("read::open", 510, 50)
    assert [call.files for call in detail_of(builder, READ).slowest] == [("/data/3.jpg",), ()]
