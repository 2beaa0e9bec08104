"""One step whose own work is most of all steps', as one that saves a checkpoint, is no part of the predicted loop."""

from __future__ import annotations

import pytest

from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import finding_in, results_of
from tests.trace_builder import TraceBuilder


def recorded(extra: int, each: int = 1) -> TraceBuilder:
    """Steps of 10 ms, 4 of them data wait for `each` batches of one sample; the 7th of 12 takes `extra` more."""
    loader = {"dataset": "Photos", "num_workers": 0, "batch_size": 1, "iterated": 1}
    builder, at = TraceBuilder().annotated(loaders=[loader], host={"cores": 8}), 0
    for number in range(1, 13):
        took = 10_000 + (extra if number == 7 else 0)
        for batch in range(each):
            begin, length = at + batch * 4_000 / each, 4_000 / each - (each > 1)
            builder.wait(begin, length, "wait::DataLoader").stage("sample::Photos", begin, length)
        builder.step(at, took)
        at += took
    return builder


def loop_of(extra: int, each: int = 1) -> Loop:
    found = fit_loop(results_of(recorded(extra, each)))
    assert isinstance(found, Loop)
    return found


def test_it_is_left_out_and_that_is_said() -> None:
    """A stranger's loop took 20 ms, and the steady state was 38."""
    loop = loop_of(500_000)
    assert loop.measured_step_ns == pytest.approx(10e6)
    assert loop.left_out == "step 7, which takes 500 ms longer than another"


@pytest.mark.parametrize("each", [1, 8])
def test_its_samples_and_batches_are_no_other_steps(each: int) -> None:
    """A stranger's loop without it had 93.0 samples/s, of 12 in each 143 ms."""
    loop = loop_of(500_000, each)
    assert (loop.samples_per_step, loop.batches_per_step) == (each, each)
    rate = predict(loop, Change()).samples_per_s
    assert rate is not None and rate.value == pytest.approx(each / 0.010, rel=0.01)


def test_steps_that_differ_a_little_are_all_the_loops() -> None:
    loop = loop_of(5_000)
    assert loop.measured_step_ns == pytest.approx(10.42e6, rel=0.01) and not loop.left_out


def test_what_a_setting_saves_is_a_share_of_the_step_that_the_model_has() -> None:
    """A stranger read of a step of 45.7 ms that became 3.0 times as fast, and of one of 36.3 ms that became 9.6."""
    said = finding_in(recorded(500_000), "single_process_loading")
    assert "of a step of 10.0 ms, without step 7, which takes 500 ms longer than another" in said.gain_text
    evenly = finding_in(recorded(0), "single_process_loading")
    assert said.gain_us_per_step == pytest.approx(evenly.gain_us_per_step, rel=0.02)
    assert said.gain_text.partition(" as fast")[0].split()[-1] == evenly.gain_text.partition(" as fast")[0].split()[-1]
