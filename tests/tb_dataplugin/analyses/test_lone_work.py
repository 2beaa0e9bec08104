"""One step whose own work is much of all steps' is named: shares and rates of a few steps are mostly its."""

from __future__ import annotations

from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


def steps(extra: int, count: int = 10, every: int = 10, wait: int = 2_000) -> TraceBuilder:
    """Of 10 ms, `wait` of them data wait; the 7th in `every` takes `extra` more."""
    builder, at = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], host={"cores": 8}), 0
    for number in range(1, count + 1):
        took = 10_000 + (extra if number % every == 7 else 0)
        builder.wait(at, wait, "wait::DataLoader").step(at, took)
        at += took
    return builder


def test_a_step_that_takes_most_of_the_time_is_named() -> None:
    sentence = capture_of(steps(400_000)).verdict.sentence
    said = "Step 7 alone has 85.0% of the time outside the data wait, 400 ms more than another on average: choose other"
    assert f"{said} steps to see them without it." in sentence


def test_it_is_no_matter_where_data_costs_more() -> None:
    """Behind a verdict that is about data it only takes the place of what helps."""
    assert "alone" not in capture_of(steps(60_000, wait=9_000)).verdict.sentence
    assert "Step 7 alone" in capture_of(steps(120_000, wait=9_000)).verdict.sentence


def test_steps_that_differ_a_little_are_not() -> None:
    assert "alone" not in capture_of(steps(8_000)).verdict.sentence


def test_what_happens_again_and_again_is_part_of_the_loop() -> None:
    assert "alone" not in capture_of(steps(400_000, count=40)).verdict.sentence
