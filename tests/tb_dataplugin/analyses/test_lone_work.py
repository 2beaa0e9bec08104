"""One step whose own work is much of all steps' is named: shares and rates of a few steps are mostly its."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
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


def sampled(extra: int) -> TraceBuilder:
    """Each step takes one sample."""
    builder = steps(extra)
    for wait in [event for event in builder.events if event["name"] == "wait::DataLoader"]:
        builder.stage("sample::Photos", wait["ts"], wait["dur"])
    return builder


def note_of(capture: Any) -> str:
    return next((note.message for note in capture.diagnostics if note.code == "rates_with_lone_step"), "")


def test_the_training_steps_rate_says_that_the_step_is_in_it_and_what_it_would_be() -> None:
    """8 ms outside the data wait are 125 samples/s; the verdict's own numbers, and What if, are of such steps."""
    capture = capture_of(sampled(400_000))
    assert capture.throughput.device_per_s == pytest.approx(10 / 0.48)
    assert note_of(capture) == (
        "The training step's samples/s are by the clock, with step 7, which takes 400 ms longer than another on "
        "average: if it took as long, the rate would be 125"
    )
    assert "training step with its one long step 20.8" in " ".join(as_text(as_report([capture])).split())


def test_a_rate_without_such_a_step_says_nothing_of_one() -> None:
    capture = capture_of(sampled(8_000))
    assert capture.throughput.device_per_s and not note_of(capture)
    assert "long step" not in as_text(as_report([capture]))


def test_a_device_that_works_all_the_time_bounds_what_is_left() -> None:
    """Busy for 300 of 480 ms: 10 samples take that long, whatever the host does."""
    builder = sampled(400_000)
    builder.kernel(0, 300_000)
    assert note_of(capture_of(builder)).endswith("the rate would be 33.3")
    builder.kernel(0, 500_000)
    assert not note_of(capture_of(builder))
