from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of, held_up
from tests.trace_builder import TraceBuilder


def test_a_ready_batch_behind_a_slow_one_is_told_with_its_time() -> None:
    said = finding_in(held_up(), "head_of_line")
    assert "in_order=False" in said.code
    assert said.gain_us_per_step == 250  # of two workers one stands still for half of the window


def test_a_ready_batch_costs_nothing_while_all_workers_are_busy() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 600, "wait::DataLoader").wait(700, 10, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 599).batch(1, 1, 0, 0, 100, 705).batch(2, 0, 0, 600, 990, None)
    assert finding_of(builder.batch(3, 1, 0, 100, 990, None), "head_of_line") is None


def test_no_advice_to_give_up_an_order_that_is_given_up() -> None:
    assert finding_of(held_up(in_order=False), "head_of_line") is None
