"""What receiving a batch takes, and how long its DataLoader worker holds it up, in made-up traces of one worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.loop import Loop
from tests.trace_builder import TraceBuilder

BUILD, STEP, COUNT = 20_000.0, 22_000.0, 12
"""Microseconds: the worker builds for so long in each step."""


def captured(
    folder: Path,
    arrives: float,
    begins: float = 300,
    waits_from: float = 0,
    cpu_us: float | None = 100,
    runs: float | None = None,
) -> Loop:
    """Batches of a worker that builds the first 20 ms of each step of 22 ms.

    Args:
        begins, arrives: when deserialising a batch begins and ends, from its finish on.
        waits_from: when the training thread begins to wait for it.
        cpu_us: of the training thread, in its wait; None: not recorded.
        runs: part of the samples that show that thread running; None: there are no samples.
    """
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 4, "num_workers": 1}]).worker(0)
    for number in range(COUNT):
        start = number * STEP
        finished = start + BUILD
        stages = {"sample::Texts": (start, BUILD), "transform::Parse": (start + 10, BUILD - 20)}
        builder.batch(number, 0, max(0, start - 10), start, finished, finished + arrives + 50, stages)
        builder.moments(serialise_us=finished, serialised_us=finished + 200)
        builder.moments(deserialise_us=finished + begins, arrived_us=finished + arrives)
        end = finished + arrives + 60
        told: dict[str, Any] = {} if cpu_us is None else {"cpu_us": cpu_us}
        builder.add("user_annotation", "wait::DataLoader", finished + waits_from, end - finished - waits_from, **told)
        builder.step(finished + 60, STEP)
    if runs is not None:
        seen = range(int(COUNT * STEP / 100))
        builder.sampled([100.0 * each for each in seen], [int(each % 10 >= 10 * runs) for each in seen])
    return read_loop(builder.write(folder / "run.pt.trace.json"))[0]


def received_ms(loop: Loop) -> float:
    return float(loop.receive.total_ns.mean() + loop.around_ns) / 1e6


def test_a_batch_that_arrives_after_its_worker_has_built_the_next_is_held_up_until_then(tmp_path: Path) -> None:
    loop = captured(tmp_path, arrives=STEP + 50, waits_from=120)
    assert np.isinf(loop.held_ns).all()
    assert received_ms(loop) < 3  # the worker's pause between two batches, and what follows


def test_a_batch_that_arrives_while_its_worker_builds_is_held_up_as_long_as_it_was(tmp_path: Path) -> None:
    loop = captured(tmp_path, arrives=8000)
    held_ms = loop.held_ns / 1e6
    assert np.isfinite(held_ms).all()
    assert held_ms.max() == pytest.approx(8 - 2, rel=0.02)  # the next one is begun 2 ms after the finish
    assert received_ms(loop) == pytest.approx(8 - held_ms.mean(), abs=0.4)


def test_nothing_is_held_up_while_the_worker_does_not_build(tmp_path: Path) -> None:
    loop = captured(tmp_path, arrives=1500)
    assert not loop.held_ns.any()
    assert received_ms(loop) == pytest.approx(1.36, abs=0.05)  # from when it was ready to the end of next()


def test_time_on_a_cpu_is_not_held_up(tmp_path: Path) -> None:
    busy = captured(tmp_path, arrives=8000, cpu_us=7700)
    assert not busy.held_ns.any()
    assert received_ms(busy) == pytest.approx(7.86, abs=0.05)


def test_samples_tell_of_time_on_a_cpu_that_was_not_recorded(tmp_path: Path) -> None:
    recorded = captured(tmp_path, arrives=8000, cpu_us=1612)
    sampled = captured(tmp_path, arrives=8000, cpu_us=None, runs=0.2)
    assert sampled.held_ns.max() == pytest.approx(recorded.held_ns.max(), rel=0.03)
    assert received_ms(sampled) == pytest.approx(received_ms(recorded), rel=0.03)
    assert not sampled.maybe_held_ns.any()


def test_without_either_half_counts_as_held_up_and_the_interval_has_both_ends(tmp_path: Path) -> None:
    held, busy, unknown = (captured(tmp_path, arrives=18_000, cpu_us=cpu_us) for cpu_us in (0, 17_700, None))
    assert unknown.held_ns == pytest.approx(held.held_ns / 2)
    without = Change(stages=(("transform::Parse", 0.0),))
    made, ends = predict(unknown, without).step_us, [predict(loop, without).step_us.value for loop in (held, busy)]
    assert ends[0] < made.value < ends[1]
    assert made.low <= ends[0] < 0.8 * made.value and 1.2 * made.value < ends[1] <= made.high


def test_where_another_thread_deserialises_only_what_the_wait_shows_is_receiving(tmp_path: Path) -> None:
    pinned = captured(tmp_path, arrives=8000, waits_from=7900)
    assert not pinned.held_ns.any()
    assert received_ms(pinned) == pytest.approx(0.16, abs=0.02)


def test_a_thread_that_takes_two_batches_in_one_wait_receives_one_after_the_other(tmp_path: Path) -> None:
    """The second one was finished long before, and held back by the first."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 4, "num_workers": 2}]).worker(0).worker(1)
    for number in range(COUNT):
        start = number * STEP
        for worker, finished, taken in ((0, start + BUILD, start + BUILD + 300), (1, start + 500, start + BUILD + 400)):
            begun = finished - BUILD
            stages = {"sample::Texts": (begun, BUILD)}
            builder.batch(2 * number + worker, worker, max(0, begun - 10), begun, finished, taken, stages)
            builder.moments(serialise_us=finished, serialised_us=finished)
            builder.moments(deserialise_us=taken, arrived_us=taken)
        builder.wait(start + 100, BUILD + 400, "wait::DataLoader").step(start, STEP)
    loop = read_loop(builder.write(tmp_path / "run.pt.trace.json"))[0]
    assert received_ms(loop) < 1.0


def test_batches_stay_with_the_workers_that_built_them(tmp_path: Path) -> None:
    """One of two workers is slow, and turns to its first batch when the other one has built two."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 4, "num_workers": 2}]).worker(0).worker(1)
    for number in range(COUNT):
        worker, turn = number % 2, number // 2
        start, took = turn * STEP + worker * 1.5 * STEP, BUILD if worker else BUILD / 4
        consumed = 3 * STEP + turn * STEP + worker * STEP / 2
        spans = {"sample::Texts": (start + 10, took - 20)}
        builder.batch(number, worker, number - 100.0, start, start + took, consumed, spans)
        begin = consumed - 50 if number else -50.0
        builder.step(begin, consumed + STEP / 2 - 50 - begin).wait(consumed - 50, 60, "wait::DataLoader")
    built = read_loop(builder.write(tmp_path / "run.pt.trace.json"))[0].build.total_ns / 1e3
    assert built[0::2].max() < BUILD / 2 < built[1::2].min()
