"""DataLoader workers of one loader together, on captures with known answers."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.worker_summary import WorkerSummary, ready_share
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.timeline.lanes import build_timeline_source
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def two_workers() -> TraceBuilder:
    """1000 us. Worker 0 builds batch 0 until 600; worker 1 has built batch 1 at 100, and batch 2 from 600 to 900."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1, started=30)
    builder.step(0, 1000).wait(0, 600, "wait::DataLoader").wait(700, 10, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 599).batch(1, 1, 0, 50, 100, 705)
    return builder.batch(2, 1, 600, 600, 900, None)


def summaries(builder: TraceBuilder) -> tuple[WorkerSummary, ...]:
    return results_of(builder).worker_summaries


def test_busy_and_starved_are_means_per_worker_and_startup_is_the_longest() -> None:
    [summary] = summaries(two_workers())
    assert (summary.workers, summary.processes, summary.batches) == (2, 2, 3)
    assert summary.busy_ns == (600 + 350) * 1000 / 2
    assert summary.starved_ns == 500 * 1000 / 2  # worker 1, 100 to 600; after the last index nobody is starved
    assert (summary.startup_ns, summary.init_ns) == (30_000, 0)


def test_worker_init_fn_is_the_part_of_the_longest_start_that_was_in_it() -> None:
    builder = two_workers()
    builder.workers[1]["init_us"] = [-5, 25]  # worker 1's start is 0 to 30
    assert [summary.init_ns for summary in summaries(builder)] == [25_000]


def test_waits_for_finished_batches_are_a_share_of_the_data_wait() -> None:
    [summary] = summaries(two_workers())
    assert summary.wait_ns == 610_000
    assert summary.ready_wait_share == pytest.approx(10 / 610)
    assert summary.head_of_line_ns == 500_000  # batch 1 was finished at 100, batch 0 at 600


def test_the_worker_with_most_work_is_named() -> None:
    [summary] = summaries(two_workers())
    assert summary.most_skewed == 0 and summary.skew == pytest.approx(600 / 475)


def test_each_loader_has_the_data_wait_for_its_own_batches() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}, {"num_workers": 1}]).worker(0).worker(1, loader=1)
    builder.step(0, 1000).wait(0, 300, "wait::DataLoader").wait(500, 100, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 290, 299).batch(0, 1, 0, 0, 590, 599)
    builder.batches["loader"][-1] = 1
    assert [(summary.loader, summary.wait_ns) for summary in summaries(builder)] == [(0, 300_000), (1, 100_000)]


def test_the_loader_that_is_waited_for_longest_comes_first() -> None:
    for waits_us, order in (((100, 300), [1, 0]), ((300, 100), [0, 1])):
        loaders = [{"num_workers": 1, "dataset": name} for name in ("Labelled", "Unlabelled")]
        builder = TraceBuilder().annotated(loaders=loaders).worker(0).worker(1, loader=1)
        for number in range(4):
            builder.step(1000 * number, 1000)
            for loader, wait in enumerate(waits_us):
                start = 1000 * number + 500 * loader
                builder.wait(start, wait, "wait::DataLoader")
                builder.batch(number, loader, 0, 0, start + wait - 10, start + wait - 1).of_loader(loader)
        assert [summary.loader for summary in summaries(builder)] == order


def test_the_waits_of_all_loaders_are_the_data_wait_with_their_starts_and_ends() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}, {"num_workers": 1}]).worker(0).worker(1, loader=1)
    builder.step(0, 1000).wait(0, 300, "wait::DataLoader").wait(400, 50, "wait::DataLoader (iter)")
    builder.wait(500, 100, "wait::DataLoader").wait(700, 200, "wait::DataLoader")  # the last ends its workers
    builder.batch(0, 0, 0, 0, 290, 299).batch(0, 1, 0, 0, 590, 599).of_loader(1)
    assert sorted(summary.wait_ns or 0 for summary in summaries(builder)) == [300_000, 350_000]
    loader = results_of(builder).loader
    assert loader is not None and loader.waits.total_ns == 650_000


def test_without_a_wait_the_data_wait_is_not_known() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).worker(0).step(0, 1000)
    [summary] = summaries(builder.batch(0, 0, 0, 0, 600, None))
    assert summary.wait_ns is None and summary.ready_wait_share is None


def test_of_some_waits_alone_it_is_their_share() -> None:
    """Without the wait that is told apart, the loop waited for a finished batch only."""
    workers = results_of(two_workers()).workers
    assert workers is not None
    assert ready_share(workers.batches, 0, Intervals.union([700_000], [710_000])) == 1.0
    assert ready_share(workers.batches, 0, Intervals.union([0], [600_000])) == 0.0


def test_without_workers_there_is_no_summary() -> None:
    assert summaries(TraceBuilder().annotated().step(0, 100).wait(0, 40)) == ()


def with_validation() -> TraceBuilder:
    """Two workers of a second loader, which persist and have nothing to do."""
    builder = two_workers()
    builder.annotated(loaders=[{"num_workers": 2, "batch_size": 1}, {"num_workers": 2}])
    return builder.worker(0, loader=1, pid=901).worker(1, loader=1, pid=902)


def test_workers_of_a_loader_without_batches_are_counted_not_listed() -> None:
    assert [summary.quiet for summary in summaries(with_validation())] == [False, True]
    capture = analyse(with_validation().trace()).capture
    assert capture.quiet_workers_sentence == (
        "Not listed: 2 DataLoader workers of a DataLoader without batches in this window."
    )
    text = as_text(as_report([capture]))
    assert "2 DataLoader workers of a DataLoader without batches" in text and "901" not in text
    assert len(capture.workers) == 4
    lanes = build_timeline_source(results_of(with_validation())).lanes
    assert [lane.title for lane in lanes if lane.kind == "worker"] == ["DataLoader worker 0", "DataLoader worker 1"]


def test_a_worker_whose_only_batch_is_unfinished_is_listed() -> None:
    builder = two_workers().worker(2, loader=1).batch(0, 2, 0, 100, None, None)
    builder.batches["loader"][-1] = 1
    builder.annotated(loaders=[{"num_workers": 2}, {"num_workers": 1}])
    assert [(summary.batches, summary.quiet) for summary in summaries(builder)] == [(3, False), (0, False)]
