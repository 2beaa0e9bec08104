from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.limiting import limiting_worker
from tb_dataplugin.findings.rules.uneven_workers import check
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import abstentions, evidence_of, finding_in, finding_of, results_of, signals_of
from tests.tb_dataplugin.findings.uneven_cases import QUICK, SLOW, in_turns, last_part, unequal_parts, whole_epoch_ms
from tests.trace_builder import TraceBuilder


def few_batches() -> TraceBuilder:
    """Three of each worker."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800)
    for number in range(3):
        builder.batch(2 * number, 0, 0, 200 * number, 200 * number + 25, 800)
        builder.batch(2 * number + 1, 1, 0, 200 * number, 200 * number + 200, 800)
    return builder


def test_an_uneven_worker_is_named() -> None:
    said = finding_in(few_batches(), "uneven_workers")
    assert said.title.startswith("DataLoader worker 1 is busy 1.8x")
    assert "by chance" in said.confidence_reason


def test_a_batch_each_does_not_tell_a_slow_worker_from_a_slow_batch() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800).batch(0, 0, 0, 0, 100, 100).batch(1, 1, 0, 0, 800, 799)
    assert "uneven_workers" in abstentions(builder)


def test_the_slow_part_of_an_iterable_dataset_is_to_be_divided_and_order_is_kept() -> None:
    said = finding_in(in_turns((QUICK, SLOW), divided=True), "uneven_workers")
    assert said.title == "DataLoader worker 1 needs 34.0 ms for a batch, the other one 600 µs"
    assert "Each reads its own part of" in said.advice and "in_order=False would not help" in said.advice
    assert not said.code and "chance" not in said.confidence_reason
    assert finding_of(in_turns((QUICK, SLOW), divided=True), "head_of_line") is None
    assert finding_of(in_turns((QUICK, SLOW), divided=True), "prefetch_too_shallow") is None


def test_more_workers_are_advised_for_a_slow_part_where_whatif_expects_something_of_them() -> None:
    assert (
        "More DataLoader workers help too" in finding_in(in_turns((QUICK, SLOW), divided=True), "uneven_workers").advice
    )


def test_what_a_finding_promises_of_uneven_workers_is_what_whatif_predicts() -> None:
    builder = in_turns((QUICK, SLOW), divided=True)
    results = results_of(builder)
    loop = fit_loop(results)
    assert isinstance(loop, Loop)
    now, even = (predict(loop, change).step_us for change in (Change(), Change(even=True)))
    gain = finding_in(builder, "uneven_workers").gain_us_per_step
    assert now.value - even.value <= gain * 1.03 and gain <= now.value - even.low
    assert predict(loop, Change(in_order=False)).step_us.value == pytest.approx(now.value, rel=0.02)


def test_a_slow_worker_that_any_other_may_stand_in_for_is_not_waited_for_without_order() -> None:
    builder = in_turns((5000.0, SLOW), iterable=False)
    said = finding_in(builder, "uneven_workers")
    assert said.title == "DataLoader worker 1 needs 34.0 ms for a batch, the other one 5.00 ms"
    assert "in_order=False" in said.code and "more than chance" in said.confidence_reason
    assert any("held back by an earlier one" in text for text in evidence_of(said))


def test_without_order_nobody_waits_for_a_workers_turn() -> None:
    assert finding_of(in_turns((QUICK, SLOW), in_order=False), "uneven_workers") is None


def test_an_iterable_dataset_that_nothing_divides_has_no_slow_part() -> None:
    said = finding_in(in_turns((QUICK, SLOW), divided=False), "uneven_workers")
    assert "own part" not in said.advice and "in_order" not in said.advice + said.code


def test_nothing_is_advised_where_the_model_expects_nothing() -> None:
    """The step takes longer than the slow worker needs; the little data wait is the price of `next()`."""
    signals = signals_of(in_turns((QUICK, SLOW), train=40_000.0, divided=True))
    assert signals.wait_cost_us is not None and signals.workers is not None
    assert check(replace(signals, wait_cost_us=0.1 * signals.loop_us)) is None
    found = check(signals_of(in_turns((QUICK, SLOW), divided=True)))
    assert isinstance(found, Finding)


def test_parts_of_unequal_size_are_named_though_each_batch_takes_as_long() -> None:
    said = finding_in(unequal_parts(), "uneven_workers")
    assert said.title == "Parts of unequal size: DataLoader worker 0 delivers 24 of the 33 batches of 3 epochs"
    assert "builds nothing until the next epoch" in said.advice and said.confidence == "likely"
    assert "2.2x as long as the mean" in evidence_of(said)[1]


def test_the_bound_of_parts_of_unequal_size_holds_for_the_same_loop_with_equal_ones() -> None:
    now, even = (whole_epoch_ms(counts) * 1e3 for counts in ((8, 2, 1), (4, 4, 3)))
    gain = finding_in(unequal_parts(), "uneven_workers").gain_us_per_step
    assert gain is not None and now - even < gain < 0.6 * now


def test_equal_parts_are_no_finding_though_one_worker_has_a_batch_more() -> None:
    assert finding_of(unequal_parts((4, 4, 3)), "uneven_workers") is None


def test_a_stage_is_bound_by_what_the_worker_of_the_largest_part_needs() -> None:
    signals = signals_of(unequal_parts())
    (stage,) = (calls for calls in signals.stages if calls.stage.name == "sample::Shards")
    assert stage.in_slowest_us > 0.7 * stage.self_us and limiting_worker(signals) == 0


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_a_worker_that_is_left_alone_is_named_and_more_of_them_are_not_the_advice(ended: bool, in_order: bool) -> None:
    builder = last_part(ended=ended, in_order=in_order)
    said = finding_in(builder, "uneven_workers")
    assert said.title == "Parts of unequal size: DataLoader worker 0 delivers all 40 batches of this window"
    assert "1 of 2 DataLoader workers delivered nothing: it was at the end before" in " ".join(evidence_of(said))
    assert "in other steps of an epoch" in said.confidence_reason
    assert finding_of(builder, "too_few_workers") is None


def test_workers_that_are_left_are_told_from_those_that_are_not() -> None:
    said = finding_in(last_part((20, 20, 0, 0)), "uneven_workers")
    assert said.title.endswith("delivers 20 of the 40 batches of this window, and 2 of 4 none")


@pytest.mark.parametrize("ended", [False, True])
def test_a_stage_saves_all_that_it_takes_of_the_worker_that_is_left(ended: bool) -> None:
    """Half of it goes: workers that have ended take no part."""
    signals = signals_of(last_part(ended=ended))
    (stage,) = (calls for calls in signals.stages if calls.stage.name == "sample::Shards")
    assert stage.in_slowest_us == pytest.approx(stage.self_us)
    saved = signals.per_step(saved_without(signals, [stage], part=0.5).us)
    really = whole_epoch_ms((40, 0)) - whole_epoch_ms((40, 0), build=15_000.0)
    assert saved is not None and saved / 1e3 == pytest.approx(really, rel=0.05)


def test_what_is_still_needed_is_that_of_the_largest_part() -> None:
    """And not the mean of workers, some of which have ended."""
    signals = signals_of(unequal_parts())
    assert signals.workers is not None and signals.workers.parts is not None
    needed = signals.workers.largest_busy * signals.loop_us
    assert needed == pytest.approx(8 * 30_000 * 3, rel=0.1) and needed > 1.5 * signals.workers.busy * signals.loop_us
