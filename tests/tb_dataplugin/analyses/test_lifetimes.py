"""DataLoader workers count from their start to their end: each epoch may start new ones."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse, as_report
from tests.trace_builder import TraceBuilder

EPOCH = 1000
BUILD = 100


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def five_epochs(ended: bool = True, epochs: int = 5) -> TraceBuilder:
    """Two workers per epoch of 1 ms, new processes each time. They are asked at 0, ready at 20, build four batches each
    of 100 us without a pause (all indices are drawn at once), have nothing more to do from 420 on, and end at 500.

    Then a pause until the next epoch. The training thread waits for every pair of batches.
    """
    settings = {"num_workers": 2, "batch_size": 4, "name": "DataLoader", "persistent_workers": False}
    builder = TraceBuilder().annotated(loaders=[settings])
    for epoch in range(epochs):
        t = EPOCH * epoch
        for worker in range(2):
            pid = 100 + 10 * epoch + worker
            builder.worker(worker, started=t + 20, pid=pid, ended=t + 500 if ended else None)
            for number in range(4):
                start = t + 20 + BUILD * number
                stages = {"sample::Pets": (start, BUILD)}
                builder.batch(2 * number + worker, worker, t, start, start + BUILD, start + BUILD, stages)
        builder.step(t, EPOCH).next_epoch()
        for number in range(4):
            builder.wait(t + 20 + BUILD * number, BUILD, "wait::DataLoader")
    return builder


def test_a_dead_process_is_neither_idle_nor_starved() -> None:
    found = capture_of(five_epochs())
    for worker in found["workers"]:
        assert worker["alive_us"] == 5 * 500
        assert worker["busy_us"] == 5 * 400
        assert worker["idle_us"] == 5 * 100
        assert worker["startup_us"] == 5 * 20
        assert worker["starved_us"] == 0


def test_the_workers_of_all_epochs_are_one_row_per_worker_id() -> None:
    found = capture_of(five_epochs())
    assert [(row["worker"], len(row["pids"]), row["batches"]) for row in found["workers"]] == [(0, 5, 20), (1, 5, 20)]
    assert found["workers"][0]["pid"] == 140  # the last
    summary = found["worker_summaries"][0]
    assert (summary["workers"], summary["processes"], summary["alive_us"]) == (2, 10, 2500)
    assert "2 DataLoader workers are busy 80.0% of their lifetimes" in summary["sentence"]


def test_rates_are_those_of_the_workers_that_are_alive_at_the_same_time() -> None:
    """Two at once, each a batch of 4 samples, marked as one, per 100 us: 2 per 100 us."""
    assert capture_of(five_epochs())["throughput"]["prepare_per_s"] == pytest.approx(2 / 100e-6)


def test_nobody_recommends_a_deeper_queue_for_dead_processes() -> None:
    assert "prefetch_too_shallow" not in {one["rule"] for one in capture_of(five_epochs())["findings"]}


def test_without_a_recorded_end_a_process_ends_when_others_make_the_next_epoch() -> None:
    found = capture_of(five_epochs(ended=False))
    assert [row["alive_us"] for row in found["workers"]] == [5 * EPOCH] * 2
    assert [row["starved_us"] for row in found["workers"]] == [0, 0]  # there was nothing to give
    assert found["throughput"]["prepare_per_s"] == pytest.approx(2 / 100e-6)


def test_persistent_workers_live_on_through_the_epochs() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 1000).worker(0, started=-50)
    builder.batch(0, 0, 0, 0, 100, 100).next_epoch().batch(0, 0, 600, 600, 700, 700).wait(0, 100, "wait::DataLoader")
    row = capture_of(builder)["workers"][0]
    assert (row["alive_us"], row["busy_us"], row["starved_us"]) == (1000, 200, 0)


def test_epochs_that_are_iterated_at_once_both_have_living_workers() -> None:
    """``zip(loader, loader)``: the newer iterator's first index does not end the older one's processes."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 1000).wait(0, 10, "wait::DataLoader")
    builder.worker(0, pid=100).batch(0, 0, 0, 0, 900, 900)
    builder.next_epoch().worker(0, pid=101).batch(0, 0, 10, 10, 800, 800)
    row = capture_of(builder)["workers"][0]
    assert (row["alive_us"], row["busy_us"]) == (900 + 1000, 900 + 790)


def test_a_worker_that_starts_late_is_judged_by_its_lifetime() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).step(0, 1000).wait(0, 10, "wait::DataLoader")
    builder.worker(0).worker(1, started=500).batch(0, 0, 0, 0, 1000, 1000).batch(1, 1, 500, 500, 1000, 1000)
    assert [row["skew"] for row in capture_of(builder)["workers"]] == [1, 1]


def test_the_lane_of_a_worker_goes_on_through_the_epochs() -> None:
    lanes = [lane for lane in analyse(five_epochs().trace()).timeline.lanes if lane.kind == "worker"]
    assert [(lane.title, [len(row.spans) for row in lane.rows]) for lane in lanes] == [
        ("DataLoader worker 0", [20, 20, 5]),  # batches, samples, processes
        ("DataLoader worker 1", [20, 20, 5]),
    ]


def test_the_terminal_has_one_line_per_worker_with_shares_of_its_lifetime() -> None:
    text = as_text(as_report([analyse(five_epochs().trace()).capture]))
    rows = [line.split() for line in text.splitlines() if "5 pids" in line]
    assert [[*row[:4], *row[6:10]] for row in rows] == [
        ["0", "5", "pids", "20", "80.0%", "0%", "16.0%", "4.00%"],
        ["1", "5", "pids", "20", "80.0%", "0%", "16.0%", "4.00%"],
    ]
