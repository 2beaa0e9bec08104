from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.head_of_line import check
from tests.tb_dataplugin.findings.cases import finding_in, finding_of, held_up, signals_of
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


def test_what_was_held_back_is_a_part_of_what_was_measured_also_where_the_steady_state_has_less() -> None:
    signals = replace(signals_of(held_up()), wait_cost_us=100.0)
    said = check(signals)
    assert isinstance(said, Finding)
    assert said.title.startswith("For 82.0% of the data wait")
    assert said.evidence[0].text == "500 µs of 610 µs of data wait"
    assert said.gain_us_per_step == pytest.approx(82.0, abs=0.1)
