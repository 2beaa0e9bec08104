"""What DataLoader workers need for the batches that the loop takes, also where these were built before the window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.findings.limiting import limiting_worker
from tb_dataplugin.findings.needed import in_the_long_run, needed_us
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.worker_signals import PaceSignals
from tests.tb_dataplugin.findings.cases import signals_of
from tests.trace_builder import TraceBuilder

STEPS, STEP = 8, 10_000.0
WHOLE = STEPS * STEP
AHEAD = 20_000.0
"""How long before it is taken a batch is begun, by workers that are two batches ahead."""


def training(
    last: int, *, build: tuple[float, float] = (16_000.0, 16_000.0), first: int = -4, ahead: float = AHEAD
) -> TraceBuilder:
    """Two workers take turns at the batches from `first` to `last`, of which steps of 10 ms take one each; the first
    step takes number 0. `build`: by worker. They are ahead of a loop that limits, and so idle in between.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 2}]).worker(0).worker(1)
    for number in range(first, last + 1):
        worker, taken = number % 2, STEP * number + 500.0
        begun = taken - ahead
        if begun < WHOLE:
            consumed = taken if taken < WHOLE else None
            builder.batch(number - first, worker, begun, begun, begun + build[worker], consumed)
    for step in range(STEPS):
        builder.step(STEP * step, STEP).wait(STEP * step, 500.0, "wait::DataLoader")
    return builder


def needed(signals: Signals) -> float:
    return needed_us(signals, 0.0, 1.0) / signals.loop_us


def test_in_the_middle_of_an_epoch_workers_need_what_they_spent() -> None:
    signals = signals_of(training(20))
    assert signals.workers is not None and signals.workers.spared == 0.0
    assert needed(signals) == pytest.approx(signals.workers.busy)


def test_at_its_end_they_need_also_what_the_batches_from_before_took() -> None:
    """The last two of eight steps have nothing built any more in their stead."""
    signals = signals_of(training(STEPS - 1))
    assert signals.workers is not None and signals.workers.busy < 0.65
    assert needed(signals) == pytest.approx(0.8)
    assert until_workers_limit(replace(signals, unsteady=None), 0.9 * WHOLE).us == pytest.approx(0.2 * WHOLE)


def test_a_window_for_which_all_was_built_before_needs_as_much() -> None:
    signals = signals_of(training(STEPS - 1, ahead=120_000.0))
    assert signals.workers is not None and signals.workers.busy == 0.0
    assert needed(signals) == pytest.approx(0.8)


def test_another_epoch_in_the_window_hides_no_end() -> None:
    builder = training(STEPS - 1).next_epoch()
    builder.batch(0, 0, WHOLE - 100.0, WHOLE - 100.0, None, None)
    assert needed(signals_of(builder)) == pytest.approx(0.8, abs=0.01)


def test_no_batch_is_counted_that_the_workers_had_to_build_others_for() -> None:
    """Worker 1 goes on in the epoch: without order any of both may have got the indices."""
    builder = training(STEPS - 1)
    builder.batch(99, 1, WHOLE - 200.0, WHOLE - 200.0, None, None)
    builder.top_level[METADATA_KEY]["loaders"][0]["in_order"] = False
    signals = signals_of(builder)
    assert signals.workers is not None and signals.workers.spared == 0.0


def with_pace(signals: Signals) -> Signals:
    assert signals.workers is not None
    pace = PaceSignals((1,), 18_000.0, 1, 6000.0, 12_000.0, 1, 18_000.0)
    return replace(signals, workers=replace(signals.workers, pace=pace))


def test_of_workers_that_differ_the_slowest_needs_its_own_batches() -> None:
    """Worker 1 takes 18 ms for each second one of eight batches, whatever the other has in the queue."""
    signals = with_pace(signals_of(training(STEPS - 1, build=(6000.0, 18_000.0))))
    assert signals.workers is not None and limiting_worker(signals) == 1
    assert needed(signals) == pytest.approx(0.9)
    assert needed_us(signals, 0.0, in_the_long_run(signals)) == pytest.approx(0.9 * WHOLE)
    assert signals.workers.busy + signals.workers.spared == pytest.approx(0.6, abs=0.02)


def test_one_batch_more_of_the_slowest_worker_in_a_window_is_chance() -> None:
    """Of seven batches it delivers four, but of many every second one."""
    builder = training(STEPS - 1, build=(6000.0, 18_000.0))
    builder.batches["consumed_us"][builder.batches["batch"].index(4)] = -100.0  # before the first step
    assert needed(with_pace(signals_of(builder))) == pytest.approx(3.5 * 18_000.0 / WHOLE)


def test_of_unequal_parts_the_largest_needs_its_own_batches() -> None:
    """Worker 0 left two batches in the queue, which took long; worker 1 goes on with the other six, alone."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 2, "iterable": True}])
    builder.worker(0).worker(1)
    for number in range(STEPS):
        builder.step(STEP * number, STEP).wait(STEP * number, 500.0, "wait::DataLoader")
        taken, is_small = STEP * number + 500.0, number in (0, 2)
        begun, took = (-90_000.0 + taken, 20_000.0) if is_small else (taken - 12_000.0, 8000.0)
        builder.batch(number, 0 if is_small else 1, begun, begun, begun + took, taken)
    signals = signals_of(builder)
    assert signals.workers is not None and signals.workers.parts is not None and limiting_worker(signals) == 1
    assert needed(signals) == pytest.approx(0.6)
    assert needed_us(signals, 0.0, in_the_long_run(signals)) == pytest.approx(0.6 * WHOLE)
