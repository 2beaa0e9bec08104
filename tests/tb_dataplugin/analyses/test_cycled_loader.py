"""A short DataLoader that is cycled beside the training loop's long one: its epochs start, that one's do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.findings.epoch_gain import most_us
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_of, results_of, signals_of
from tests.trace_builder import TraceBuilder

STEPS, LENGTH, WAIT, OWN, START = 24, 4, 1_000, 7_000, 24_000
FIRST = "wait::DataLoader (first batch)"


def cycled(build: int = 4_000, cpu: float | None = None, slow: int = WAIT, **short: Any) -> TraceBuilder:
    """Steps of 9 ms take a batch of each loader and wait 1 ms for it; every fourth waits 24 ms for the short one's.

    Args:
        slow: microseconds that each waits for the long one's.
    """
    long = {"dataset": "Unlabelled", "num_workers": 2, "batch_size": 16, "iterated": 1, "persistent_workers": False}
    other = {"dataset": "Labelled", "num_workers": 1, "batch_size": 8, "persistent_workers": False} | short
    builder = TraceBuilder().annotated(loaders=[long, other], host={"cores": 4})
    builder.worker(0, -50_000).worker(1, -50_000)
    at = 0
    for step in range(STEPS):
        wait = START if step % LENGTH == 0 else WAIT
        name = FIRST if step % LENGTH == 0 else "wait::DataLoader"
        builder.step(at, slow + wait + OWN).wait(at, slow).wait(at + slow + 100, wait - 100, name)
        begun, of = at + slow + wait, {"sample::Unlabelled": (at + slow - 50 - build, build)}
        builder.epoch = 0
        builder.batch(step, step % 2, at - 9_000, at + slow - 50 - build, at + slow - 50, at + slow - 10, of)
        builder.epoch = step // LENGTH + 1
        if step % LENGTH == 0:
            builder.worker(5, at + slow + 5_000, loader=1, pid=200 + step)
        of = {"sample::Labelled": (begun - 1_000, 900)}
        drawn = at + slow + 200 if step % LENGTH == 0 else at - 2_000
        builder.batch(step % LENGTH, 5, drawn, begun - 1_000, begun - 50, begun - 10, of).of_loader(1)
        if cpu is not None:
            for core in range(4):
                builder.counter("host::cpu", at, **{f"cpu{core}": cpu})
        at += slow + wait + OWN
    return builder


def test_the_steady_state_is_without_its_starts() -> None:
    steady = capture_of(cycled()).loader.steady_state
    assert steady.state == "epoch_start"
    assert steady.wait_us == pytest.approx(2 * WAIT - 100, rel=0.2), "of the steps without a start"


def test_starts_of_a_fast_loader_are_told_apart_beside_a_slow_one() -> None:
    """They are 24 times as long as other waits for it, and less than two of the waits for the loop's own."""
    steady = capture_of(cycled(slow=15_000)).loader.steady_state
    assert steady.state == "epoch_start"
    assert steady.wait_us == pytest.approx(15_000 + WAIT - 100, rel=0.05)


def test_what_the_loops_loader_is_waited_for_has_none_of_the_other_ones_waits() -> None:
    (said,) = (each.sentence for each in capture_of(cycled()).worker_summaries if "Unlabelled" in each.sentence)
    assert "the training thread waits 11.4% of the rest of the window for its batches" in said


def test_what_if_begins_without_the_other_ones_starts() -> None:
    loop = fit_loop(results_of(cycled()))
    assert isinstance(loop, Loop)
    assert loop.measured_step_ns < (OWN + 2 * WAIT) * 1.2e3


def test_the_finding_names_the_loader_whose_epochs_start() -> None:
    finding = finding_of(cycled(), "slow_first_batch")
    assert finding is not None
    assert finding.title.startswith("Each epoch of the DataLoader of Labelled (batches of 8, num_workers=1) begins")
    said = capture_of(cycled()).verdict.sentence
    assert said.startswith("The starts of 6 epochs of the DataLoader of Labelled (batches of 8, num_workers=1) have")
    assert not capture_of(cycled()).loader.first_batch_of, "the loop's own loader began no epoch"


def test_its_settings_decide_and_not_those_of_the_loops_loader() -> None:
    assert finding_of(cycled(persistent_workers=True), "slow_first_batch") is None


def test_the_loop_cannot_get_shorter_than_the_other_loaders_workers_need() -> None:
    free, busy = (finding_of(cycled(build), "slow_first_batch") for build in (4_000, 28_000))
    assert free is not None and busy is not None
    step = (STEPS * (2 * WAIT + OWN) + STEPS // LENGTH * (START - WAIT)) / STEPS
    assert busy.gain_us_per_step == pytest.approx(step - 28_000 / 2, rel=0.15)
    assert busy.gain_us_per_step < free.gain_us_per_step
    assert any("would then wait for other batches" in text for text in evidence_of(busy))


def test_nor_than_cpus_that_are_all_busy_allow() -> None:
    signals, idle = signals_of(cycled(cpu=99.0)), signals_of(cycled(cpu=40.0))
    assert signals.apart is not None and idle.apart is not None
    (one,), (other,) = signals.apart.starts_of, idle.apart.starts_of
    assert not one.is_main
    assert most_us(signals, one, 4_000.0) == pytest.approx(1_000 + 0.01 * 14_750, rel=0.2), "one worker of four CPUs"
    assert most_us(idle, other, 4_000.0) == 4_000
    beside = replace(signals, other_programs=OtherPrograms(4, 0.99, 2.5))
    assert most_us(beside, one, 4_000.0) == 4_000, "what other programs compute is no work of the loop's"
