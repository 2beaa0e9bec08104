"""Loops simulated batch by batch, whose steady state is known: a window that opens with a full or an empty queue."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder

NUMBER = 1000
"""Of the first batch: the epoch is under way."""


@dataclass(frozen=True)
class Loop:
    """Microseconds. The loop asks for its first batch at 0, when `full` says whether the workers are ahead."""

    build: float
    own: float
    steps: int = 16
    workers: int = 2
    prefetch: int = 4
    full: bool = True
    skip: int = 0  # steps before the window
    noise: float = 0.0
    device: bool = False
    seed: int = 1
    rare: float = 0.0  # part of the batches that take ten times as long

    def trace(self) -> TraceBuilder:
        settings = {"name": "DataLoader", "num_workers": self.workers, "batch_size": 1}
        builder = TraceBuilder().annotated(loaders=[settings], host={"cores": 16})
        ahead = self.workers * self.prefetch
        begin = -(self.prefetch + 1) * self.build * 2 if self.full else -1.0
        for worker in range(self.workers):
            builder.worker(worker, started=-1e9)
        luck = random.Random(self.seed)
        free, consumed, ask = [begin] * self.workers, list[float](), 0.0
        spans: list[tuple[float, float]] = []
        for number in range(self.skip + self.steps + ahead):
            worker = number % self.workers
            drawn = begin if number < ahead else consumed[number - ahead]
            start = max(drawn, free[worker])
            end = start + self.build * luck.uniform(1 - self.noise, 1 + self.noise)
            end += 9 * (end - start) * (luck.random() < self.rare)
            free[worker] = end
            taken = None
            if number < self.skip + self.steps:
                taken = max(ask + 1, end + 1)
                spans.append((ask, taken + 1))
                consumed.append(taken + 1)
                ask = taken + 1 + self.own
            builder.batch(NUMBER + number, worker, drawn, start, end, taken, {"transform::Slow": (start, end - start)})
        for asked, got in spans[self.skip :]:
            builder.step(asked, got - asked + self.own).wait(asked, got - asked, "wait::DataLoader")
            if self.device:
                builder.kernel(got, self.own)
        return builder

    def capture(self) -> Capture:
        return analyse(self.trace().trace()).capture


def test_a_full_queue_hides_a_loader_half_as_fast_as_the_loop() -> None:
    """Two workers, 40 ms per batch: one per 20 ms. The loop needs one per 10 ms: half of the time it waits."""
    capture = Loop(build=40_000, own=10_000, noise=0.2).capture()
    steady = capture.loader.steady_state
    assert steady.state == "draining"
    assert steady.measured_share < 0.35
    assert steady.share == pytest.approx(0.5, abs=0.05)
    assert steady.share_low <= 0.5 <= steady.share_high
    assert steady.share_high - steady.share_low < 0.2
    assert steady.capacity_per_s == pytest.approx(50, rel=0.1)
    assert steady.own_step_us == pytest.approx(10_000)
    assert "not_steady" in {note.code for note in capture.diagnostics}
    assert steady.sentence in as_text(as_report([capture])).replace("\n  ", " ")


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    found = [Loop(build=40_000, own=10_000, noise=0.4, seed=seed).capture().loader.steady_state for seed in range(20)]
    assert sum(steady.share_low <= 0.5 <= steady.share_high for steady in found) >= 17
    assert sum(steady.share for steady in found) / 20 == pytest.approx(0.5, abs=0.02)


def test_verdict_and_gains_are_those_of_the_steady_state() -> None:
    capture = Loop(build=40_000, own=10_000, steps=8).capture()  # eight batches lie ready: next to no data wait
    assert capture.loader.steady_state.measured_share < 0.05
    assert capture.verdict.bound == "cpu"
    assert "in the steady state the training thread waits for data for about" in capture.verdict.sentence.lower()
    gain = next(one for one in capture.findings if one.rule == "leading_stage").gain_us_per_step
    assert gain == pytest.approx(10_000, rel=0.05)


def test_with_a_device_the_steady_state_idles() -> None:
    capture = Loop(build=40_000, own=10_000, steps=8, device=True).capture()
    assert capture.verdict.bound == "cpu"
    assert "leave the DataLoader alone" not in capture.verdict.sentence


def test_later_the_same_loop_is_steady_and_measured() -> None:
    capture = Loop(build=40_000, own=10_000, skip=40, steps=40, noise=0.2).capture()
    steady = capture.loader.steady_state
    assert steady.state == "steady"
    assert steady.share == steady.measured_share == pytest.approx(0.5, abs=0.05)
    assert steady.share_low < steady.share < steady.share_high
    assert "not_steady" not in {note.code for note in capture.diagnostics}


def test_a_queue_that_fills_makes_a_fast_loader_look_slow() -> None:
    """Two workers of 20 ms per batch for a loop of 15 ms: after the first batches nothing is waited for."""
    steady = Loop(build=20_000, own=15_000, full=False).capture().loader.steady_state
    assert steady.state == "filling"
    assert steady.measured_share > 0.05
    assert steady.share < 0.01


def test_a_queue_that_is_fuller_in_the_end_by_chance_corrects_next_to_nothing() -> None:
    """One batch in eight takes 80 ms, the others 8: the loop goes on waiting while workers have no index."""
    uneven = Loop(build=8_000, own=9_000, rare=1 / 8, noise=0.2, steps=30, skip=50)
    truth = replace(uneven, steps=3000).capture().loader.steady_state.measured_share
    states = [replace(uneven, seed=seed).capture().loader.steady_state for seed in range(40)]
    filling = [steady for steady in states if steady.state == "filling"]
    assert len(filling) >= 5
    assert sum(steady.share for steady in filling) / len(filling) == pytest.approx(truth, abs=0.05)


def test_few_steps_have_no_estimate() -> None:
    steady = Loop(build=40_000, own=10_000, steps=6).capture().loader.steady_state
    assert steady.state == "draining"
    assert not steady.HasField("share")


def in_rounds(steps: int) -> TraceBuilder:
    """Four workers that finish at once: the loop waits 350 ms for every fourth batch, and for no other."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 4, "batch_size": 1}], host={"cores": 16})
    for worker in range(4):
        builder.worker(worker, started=-1e9)
    at = 0.0
    for step in range(steps):
        waits = 100.0 if step % 4 else 350_000.0
        finished = at + waits - 50 if step % 4 == 0 else at - 20_000
        builder.step(at, waits + 80_000).wait(at, waits, "wait::DataLoader")
        spans = {"transform::Slow": (finished - 500_000, 499_000)}
        builder.batch(NUMBER + step, step % 4, at - 900_000, finished - 500_000, finished, at + waits - 1, spans)
        at += waits + 80_000
    return builder


def test_fewer_steps_than_some_rounds_of_the_workers_have_no_interval() -> None:
    capture = analyse(in_rounds(9).trace()).capture
    steady = capture.loader.steady_state
    assert steady.state == "steady" and steady.sentence == "The window is steady."
    assert not steady.HasField("share") and not steady.HasField("wait_low_us")


@pytest.mark.parametrize("steps", (16, 18, 23))
def test_no_end_of_an_interval_is_a_time_below_none_or_more_than_the_step(steps: int) -> None:
    steady = analyse(in_rounds(steps).trace()).capture.loader.steady_state
    assert 0 <= steady.wait_low_us <= steady.wait_us <= steady.wait_high_us
    assert 0 <= steady.share_low <= steady.share <= steady.share_high <= 1


def epochs(steps: int, first: int, wait: int, own: int = 10_000, length: int = 6) -> TraceBuilder:
    """Epochs of `length` batches: the first one is waited for longer than the others."""
    settings = {"name": "DataLoader", "num_workers": 2, "batch_size": 1}
    builder, at = TraceBuilder().annotated(loaders=[settings], host={"cores": 16}), 0
    builder.worker(0, started=-1e9).worker(1, started=-1e9)
    for step in range(steps):
        number = step % length
        if step and not number:
            builder.next_epoch()
        waits, label = (first, "wait::DataLoader (first batch)") if not number else (wait, "wait::DataLoader")
        builder.step(at, waits + own).wait(at, waits, label)
        builder.batch(number, number % 2, at, at, at + waits - 5, at + waits - 1, {"transform::Slow": (at, waits - 10)})
        at += waits + own
    return builder


def test_where_epochs_start_the_steady_state_is_without_first_batches() -> None:
    """Of 5 later batches per epoch each is waited for 2 ms, and each of 6 steps takes 10 ms: 10 of 70."""
    capture = analyse(epochs(steps=18, first=50_000, wait=2_000).trace()).capture
    steady = capture.loader.steady_state
    assert steady.state == "epoch_start"
    assert steady.measured_share > 0.4
    assert steady.share == pytest.approx(1 / 7, abs=0.001)
    assert steady.share_low <= steady.share <= steady.share_high
    assert steady.sentence.startswith(
        "Epochs start in the window. Without the starts of epochs, data wait is 1.67 ms per step"
    )


def test_where_nearly_every_step_starts_an_epoch_there_is_no_estimate() -> None:
    steady = analyse(epochs(steps=14, first=50_000, wait=2_000, length=2).trace()).capture.loader.steady_state
    assert steady.state == "epoch_start"
    assert not steady.HasField("share")


def test_a_validation_epoch_inside_a_step_is_none_of_the_training_loader() -> None:
    builder = Loop(build=40_000, own=10_000).trace().wait(3_000, 2_000, "wait::DataLoader (first batch)")
    builder.worker(0, started=-1e9, loader=1, pid=900).batch(0, 0, 3_000, 3_100, 4_900, 4_950).of_loader(1)
    steady = analyse(builder.trace()).capture.loader.steady_state
    assert steady.state == "draining"
    assert steady.share == pytest.approx(0.5, abs=0.05)


def test_without_workers_there_is_none() -> None:
    capture = analyse(TraceBuilder().step(0, 100).wait(0, 50).trace()).capture
    assert not capture.loader.HasField("steady_state")
