"""DataLoader workers that need different times for a batch, by more than chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tb_dataplugin.analyses.pace import Pace, means_apart
from tb_dataplugin.analyses.steady_state import find_steady_state
from tb_dataplugin.report.report_pb2 import Throughput
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

QUICK, SLOW, TRAIN = 600.0, 34_000.0, 9_500.0
"""Microseconds."""


def in_turns(
    builds: Sequence[float], rounds: int = 12, read: float = 0.0, train: float = TRAIN, **loader: object
) -> TraceBuilder:
    """A batch of eight samples per step; each worker needs as long for each of its own, the part `read` for reading."""
    count = len(builds)
    settings = {"num_workers": count, "batch_size": 8, "prefetch_factor": 2, "iterable": True, **loader}
    builder = TraceBuilder().annotated(loaders=[settings], host={"cores": 8})
    for worker in range(count):
        builder.worker(worker)
    free, taken, now = [0.0] * count, [0.0] * (count * rounds), 0.0
    for number in range(count * rounds):
        worker = number % count
        drawn = taken[number - 2 * count] if number >= 2 * count else 0.0
        begin = max(free[worker], drawn)
        free[worker] = end = begin + builds[worker]
        taken[number] = consumed = max(now, end) + 20
        builder.batch(number, worker, drawn, begin, end, consumed - 5)
        facts = {"batch": number, "epoch": 0, "worker": worker}
        for sample in range(8):
            start, took = begin + sample * builds[worker] / 8, builds[worker] / 8
            for name, part in (("sample::Shards", 1.0), ("read::file", read)) if read else (("sample::Shards", 1.0),):
                builder.add(
                    "user_annotation", name, round(start, 3), round(part * took, 3), pid=100 + worker, tid=100 + worker,
                    cpu_us=1.0, **facts,
                )  # fmt: skip
        builder.step(now, consumed + train - now).wait(now, consumed - now, "wait::DataLoader")
        now = consumed + train
    return builder


def rates_of(builder: TraceBuilder) -> Throughput:
    return capture_of(builder).throughput


def test_workers_that_take_turns_deliver_no_more_than_the_slowest_of_them() -> None:
    rates = rates_of(in_turns((QUICK, SLOW), read=0.25))
    assert rates.load_per_s == pytest.approx(16 / SLOW * 1e6, rel=0.01)
    assert rates.prepare_per_s == pytest.approx(16 / (0.75 * SLOW) * 1e6, rel=0.01)
    assert rates.read_per_s == pytest.approx(16 / (0.25 * SLOW) * 1e6, rel=0.01)
    assert rates.slowest_text == "loading limits, most of it preparation"


def test_without_order_each_worker_delivers_as_many_as_it_can() -> None:
    rates = rates_of(in_turns((QUICK, SLOW), in_order=False))
    assert rates.prepare_per_s == pytest.approx(8e6 / QUICK + 8e6 / SLOW, rel=0.01)


def test_one_slow_batch_says_nothing_of_its_worker() -> None:
    one, other = np.full(20, 1000.0), np.full(20, 1010.0)
    one[7] = 90_000.0
    assert means_apart([one, np.roll(one, 3)[::-1] * 1.0]) is None
    assert means_apart([one, np.full(20, 1000.0)]) is None
    slow = means_apart([one, 3 * other])
    assert slow is not None  # and what it takes beyond the others may come to either
    assert slow.tolist() == pytest.approx([1000 + 89_000 / 40, 3030 + 89_000 / 40], rel=0.02)


def test_batches_that_differ_as_much_within_each_worker_are_no_difference_of_workers() -> None:
    random = np.random.default_rng(5)
    alike = [means_apart(list(random.lognormal(0, 1, (8, 20)) * 1e6)) for _ in range(100)]
    assert sum(found is not None for found in alike) <= 5
    heavy = [means_apart(list(random.pareto(1.5, (2, 100)) * 1e6)) for _ in range(100)]
    assert sum(found is not None for found in heavy) <= 5


def test_slow_batches_that_only_one_worker_has_are_its_own() -> None:
    often = np.where(np.arange(100) % 7 == 0, 50_000.0, 1000.0)
    found = means_apart([np.full(100, 1000.0), often])
    assert found is not None and found.tolist() == [1000.0, often.mean()]


def test_a_few_batches_each_are_too_few() -> None:
    assert means_apart([np.full(3, 25.0), np.full(3, 200.0)]) is None
    assert means_apart([np.full(6, 25.0), np.full(6, 200.0)]) is not None


def test_the_slow_ones_of_several_are_those_above_the_mean() -> None:
    pace = Pace(((0, 1.0), (1, 30.0), (2, 2.0), (3, 34.0)))
    assert pace.slow == (1, 3) and pace.slowest_ns == 34.0
    assert (pace.mean_of(slow=True), pace.mean_of(slow=False)) == (32.0, 1.5)


def test_a_queue_that_empties_hides_what_the_slowest_worker_will_cost() -> None:
    """Eight batches are ready at first; in the long run every second one takes 34 ms."""
    builder = in_turns((QUICK, SLOW), rounds=16, train=11_000.0)
    results = results_of(builder)
    assert results.steps is not None and results.workers is not None
    found = find_steady_state(results.steps, results.workers, results.flow, results.window, 0, results.loop.apart)
    assert found is not None and found.capacity_per_s == pytest.approx(2e6 / SLOW, rel=0.01)
