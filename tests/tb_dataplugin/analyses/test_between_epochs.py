"""Time between two epochs, as for a checkpoint, lies in a step and is no part of the training loop."""

from __future__ import annotations

import pytest

from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.whatif import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

WORK, BUILT, PAUSE = 5_000, 15_000, 300_000
LOADER = {"dataset": "Photos", "num_workers": 0, "batch_size": 1, "iterated": 2, "iterated_in_window": 2}


def epochs(steps: int = 10, pause: int = PAUSE, left_early: bool = False, count: int = 2) -> TraceBuilder:
    """In-process epochs of steps of 20 ms, 15 of them data wait, with a pause between. `left_early`: by a ``break``."""
    builder = TraceBuilder().annotated(loaders=[{**LOADER, "iterated_in_window": count}], host={"cores": 8})
    at = begin = 0
    for epoch in range(count):
        for _ in range(steps):
            builder.wait(at, BUILT, "wait::DataLoader").stage("sample::Photos", at, BUILT)
            at += BUILT + WORK
            builder.step(begin, at - begin)
            begin = at
        if not left_early and epoch < count - 1:
            builder.wait(at, 100, "wait::DataLoader")
            at += 100
        at += pause
    return builder


def shares(capture: Capture) -> tuple[float, float]:
    apart = capture.loader.apart
    return apart.between_epochs_us, apart.between_us


def test_it_is_told_apart() -> None:
    capture = capture_of(epochs())
    assert shares(capture) == (PAUSE, PAUSE)
    said = "The time between epochs (step 11), from the end of one to the next iter(), has 42.9% of the window"
    assert f"{said} (300 ms)." == capture.loader.apart.sentence
    assert "75.0% of the window without the time between epochs" in capture.verdict.sentence
    assert capture.loader.apart.sentence in capture.verdict.sentence
    assert capture.steps.items[10].between_us == PAUSE


def test_it_has_no_data_wait() -> None:
    """What tables of data wait include is named without it."""
    apart = capture_of(epochs()).loader.apart
    assert (apart.names, apart.wait_names, apart.wait_us) == ("the time between epochs", "", 0)


def test_it_leads_where_it_is_most_of_the_window() -> None:
    capture = capture_of(epochs(pause=2_000_000))
    assert capture.verdict.sentence.startswith(capture.loader.apart.sentence)
    assert "75.0% of the rest of the window" in capture.verdict.sentence


def test_rates_and_predictions_are_without_it() -> None:
    """A stranger's window had 250 ms per step where its loop takes 47."""
    capture = capture_of(epochs())
    assert capture.throughput.device_per_s == pytest.approx(20 / 0.1, rel=0.01)
    loop = fit_loop(results_of(epochs()))
    assert isinstance(loop, Loop) and "the time between epochs" in loop.left_out


def test_what_follows_a_loop_that_is_left_early_may_be_the_steps_own() -> None:
    assert shares(capture_of(epochs(left_early=True))) == (0, 0)


def test_a_loop_of_single_batches_is_made_of_them() -> None:
    assert shares(capture_of(epochs(steps=1, count=12))) == (0, 0)


def test_next_to_nothing_is_left_where_it_is() -> None:
    assert shares(capture_of(epochs(pause=3_000))) == (0, 0)


def test_iter_of_dataloader_workers_ends_it() -> None:
    loader = {"dataset": "Tiles", "num_workers": 1, "batch_size": 4, "persistent_workers": True, "iterated": 2}
    builder, at, begin = TraceBuilder().annotated(loaders=[loader], host={"cores": 8}).worker(0), 0, 0
    for epoch in range(2):
        builder.epoch = epoch
        if epoch:
            builder.wait(at, 50, "wait::DataLoader")
            at += 50 + PAUSE
            builder.wait(at, 500, "wait::DataLoader (iter)")
            at += 550
        for number in range(10):
            builder.batch(number, 0, at - 500, at - 400, at + BUILT - 200, at + BUILT - 50).wait(at, BUILT)
            at += BUILT + WORK
            builder.step(begin, at - begin)
            begin = at
    assert capture_of(builder).loader.apart.between_epochs_us == PAUSE
