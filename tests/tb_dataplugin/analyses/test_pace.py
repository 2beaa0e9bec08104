"""DataLoader workers that need different times for a batch, by more than chance."""

from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.analyses.pace import Pace, means_apart
from tb_dataplugin.analyses.steady_state import find_steady_state
from tb_dataplugin.report.report_pb2 import Throughput
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.tb_dataplugin.findings.uneven_cases import QUICK, SLOW, in_turns
from tests.trace_builder import TraceBuilder


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
    found = find_steady_state(
        results.steps, results.workers, results.flow, results.window, results.use, results.loop.apart
    )
    assert found is not None and found.capacity_per_s == pytest.approx(2e6 / SLOW, rel=0.01)
