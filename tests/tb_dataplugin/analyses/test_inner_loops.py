"""Steps that go through many batches where others take one: an evaluation over the training loop's own DataLoader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tb_dataplugin.analyses.inner_loops import InnerLoops, find_inner_loops
from tb_dataplugin.analyses.sawtooth import Sawtooth
from tb_dataplugin.analyses.slow_rhythm import find_leading_rhythm
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.findings.verdict import judge_run
from tb_dataplugin.whatif.fitting import fit_loop
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

WAIT, WORK = 60, 40


def asking(times: Sequence[int]) -> TraceBuilder:
    """Each step asks for so many batches of 8 samples, for 60 us each, and works for 40 us with each."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 8, "dataset": "Train"}])
    at = 0
    for number in times:
        builder.step(at, number * (WAIT + WORK))
        for _ in range(number):
            builder.wait(at, WAIT, "wait::DataLoader").stage("sample::Train", at + 1, WAIT - 2)
            at += WAIT + WORK
    return builder


def sentence(builder: TraceBuilder) -> str:
    return capture_of(builder).verdict.sentence


def test_a_step_with_an_evaluation_of_the_same_loader_says_how_many_batches_it_asked_for() -> None:
    builder = asking([1] * 10 + [14] + [1] * 9)
    assert (
        "Step 11 alone has 42.4% of the data wait: it asked for a batch 14 times, other steps mostly once "
        "(an evaluation, or another loop whose batches are no steps). Choose other steps to see them without it."
    ) in sentence(builder)
    (note,) = (one.message for one in results_of(builder).diagnostics if one.code == "inner_loops")
    assert note.startswith("Step 11 asked for a batch 14 times, other steps mostly once: an evaluation, or ")
    assert note.endswith("samples per second and a steady state include that step")


def test_steps_at_regular_distances_that_evaluate_are_no_rhythm_of_files() -> None:
    builder = asking(([1] * 9 + [8]) * 4)
    assert capture_of(builder).steps.sawtooth.sentence == ""
    assert "Steps 10, 20, 30 and 40 have 47.1% of the data wait: they asked for a batch 8 times each" in sentence(
        builder
    )


@pytest.mark.parametrize(
    ("times", "said"), [([1] * 10 + [6] + [1] * 9, "Step 11 alone has 24.0%"), ([1] * 50 + [5], "")]
)
def test_a_part_of_the_data_wait_that_leads_nothing_is_said_as_well(times: list[int], said: str) -> None:
    assert said in sentence(asking(times)) and ("asked for a batch" in sentence(asking(times))) is bool(said)


def test_steps_that_stand_out_come_before_a_smaller_part_that_an_evaluation_has() -> None:
    results = results_of(asking([1] * 10 + [6] + [1] * 9))
    assert isinstance(find_leading_rhythm(results), InnerLoops)
    workers, files = (Sawtooth(4, 1, 0.5, (3, 7), 20, of_workers=of_workers) for of_workers in (True, False))
    assert isinstance(find_leading_rhythm(replace(results, sawtooth=workers)), InnerLoops), "it is in no verdict"
    assert find_leading_rhythm(replace(results, sawtooth=files)) == files


def test_the_loop_of_what_if_is_without_them() -> None:
    builder = asking([1] * 10 + [14] + [1] * 9)
    loop, plain = (fit_loop(results_of(one)) for one in (builder, asking([1] * 19)))
    assert not isinstance(loop, Unavailable) and not isinstance(plain, Unavailable)
    assert (loop.batches_per_step, loop.samples_per_step) == (plain.batches_per_step, plain.samples_per_step)
    assert loop.measured_step_ns == plain.measured_step_ns == pytest.approx(1e3 * (WAIT + WORK))
    assert loop.left_out == "step 11, which asked for a batch 14 times, other steps mostly once"
    accumulated = fit_loop(results_of(asking([4] * 6 + [12] + [4] * 6)))
    assert not isinstance(accumulated, Unavailable) and accumulated.batches_per_step == 4


@pytest.mark.parametrize(
    "times",
    [
        [4, 4, 4, 1] * 5,  # gradients are accumulated, and an epoch's last step has fewer batches
        [4, 4, 4, 8] * 5,  # what an epoch leaves, and its end, belong to the next epoch's first step
        [1, 1, 1, 2] * 5,  # the end of an epoch
        [1, 1, 3, 1, 1] * 3,  # of one whose last batch the program passes over
        [13] * 6,  # a step for each epoch
        [1, 30],
    ],
)
def test_accumulated_gradients_and_ends_of_epochs_are_silent(times: list[int]) -> None:
    results = results_of(asking(times))
    assert find_inner_loops(results) is None
    assert "asked for a batch" not in judge_run(read_signals(results)).sentence
