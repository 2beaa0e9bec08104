"""One step whose own work is most of all steps', as one that saves a checkpoint, is no part of the predicted loop."""

from __future__ import annotations

import pytest

from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def loop_of(extra: int) -> Loop:
    """Steps of 10 ms, 4 of them data wait; the 7th of 12 takes `extra` more."""
    loader = {"dataset": "Photos", "num_workers": 0, "batch_size": 1, "iterated": 1}
    builder, at = TraceBuilder().annotated(loaders=[loader], host={"cores": 8}), 0
    for number in range(1, 13):
        took = 10_000 + (extra if number == 7 else 0)
        builder.wait(at, 4_000, "wait::DataLoader").stage("sample::Photos", at, 4_000).step(at, took)
        at += took
    found = fit_loop(results_of(builder))
    assert isinstance(found, Loop)
    return found


def test_it_is_left_out_and_that_is_said() -> None:
    """A stranger's loop took 20 ms, and the steady state was 38."""
    loop = loop_of(500_000)
    assert loop.measured_step_ns == pytest.approx(10e6)
    assert loop.left_out == "step 7, which takes 500 ms longer than another"


def test_steps_that_differ_a_little_are_all_the_loops() -> None:
    loop = loop_of(5_000)
    assert loop.measured_step_ns == pytest.approx(10.42e6, rel=0.01) and not loop.left_out
