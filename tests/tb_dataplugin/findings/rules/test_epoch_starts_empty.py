"""Short epochs whose DataLoader workers live on: nothing is built ahead of an epoch's start."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

RULE = "epoch_starts_empty"
STEP, LENGTH, START = 10_000, 3, 30_000


def epochs(count: int = 6, build: int = 8_000, start: int = START, length: int = LENGTH, **loader: Any) -> TraceBuilder:
    """Of three steps of 10 ms; each start waits for 30 ms, all other steps for 0.1 ms."""
    settings = {"num_workers": 2, "batch_size": 8, "persistent_workers": True, "sampler": "RandomSampler"}
    builder = TraceBuilder().annotated(loaders=[settings | {"replacement": False} | loader], host={"cores": 8})
    builder.worker(0, -90_000).worker(1, -80_000)
    at = 0
    for epoch in range(1, count + 1):
        builder.epoch = epoch
        for number in range(length):
            wait = 100 if number else start
            name = "wait::DataLoader" if number else "wait::DataLoader (first batch)"
            built = at + wait - 50
            builder.batch(number, number % 2, at - 100, built - build, built, at + wait - 10)
            builder.step(at, STEP + wait).wait(at, wait, name)
            at += STEP + wait
    return builder


def test_the_wait_of_the_starts_can_go() -> None:
    said = finding_in(epochs(), RULE)
    assert said.gain_us_per_step == pytest.approx(START / LENGTH)
    assert said.confidence == "likely" and "RandomSampler" in said.code
    assert "30.0 ms on average until an epoch's first batch, once in 3 steps" in evidence_of(said)


def test_the_loop_gets_no_shorter_than_its_workers_need() -> None:
    said = finding_in(epochs(build=24_000), RULE)
    assert said.gain_us_per_step == pytest.approx(START / LENGTH + STEP + 67 - 24_000 / 2, rel=0.01)
    assert any(
        "beyond that the loop waits for its DataLoader workers, which need 12.0 ms per step" in text
        for text in evidence_of(said)
    )


@pytest.mark.parametrize(
    "builder",
    [
        epochs(persistent_workers=False),  # `slow_first_batch`
        epochs(build=44_000),  # they need all of the time
        epochs(count=2, length=60),  # the start of a long epoch is little
    ],
)
def test_else_nothing_is_said(builder: TraceBuilder) -> None:
    assert finding_of(builder, RULE) is None


def test_code_is_for_a_sampler_that_can_repeat() -> None:
    assert not finding_in(epochs(sampler="DistributedSampler"), RULE).code
    iterable = finding_in(epochs(sampler="", iterable=True, replacement=None), RULE)
    assert not iterable.code and "__iter__" in iterable.advice
