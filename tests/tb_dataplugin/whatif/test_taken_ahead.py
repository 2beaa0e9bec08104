"""Another thread of the program takes the batches from the DataLoader, and the loop takes them from its queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.export.whatif_text import limit_texts
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.whatif import Change, predict
from tb_dataplugin.whatif.change import TRANSFER
from tb_dataplugin.whatif.loop import Loop, Settings, Timed
from tests.tb_dataplugin.findings.cases import results_of
from tests.tb_dataplugin.whatif.test_simulation import loop, step_ms
from tests.trace_builder import TraceBuilder

MS = 1e3
STEP, BUILD, OWN, RECEIVING, AFTER, COUNT = 20 * MS, 39.5 * MS, 9.5 * MS, 3 * MS, 5 * MS, 16
"""Microseconds: of each step; the thread receives a batch, and then does something with it before it puts it."""


NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
GENERATOR: dict[str, Any] = {"name": "generator", "stepped": True, "iterated": 0}


def program(*more: dict[str, Any], each: int = 1) -> TraceBuilder:
    """Two workers build batches of which each step takes `each`, and a thread receives them. `more`: loaders."""
    made = {"name": "DataLoader", "dataset": "Texts", "batch_size": 4, "num_workers": 2}
    builder = TraceBuilder().annotated(loaders=[made, *more]).worker(0).worker(1)
    for number in range(COUNT):
        finished = (number + 2) * STEP
        began, arrived = finished - BUILD, finished + 200 + RECEIVING
        stages = {"sample::Texts": (began, BUILD), "transform::Parse": (began + 10, BUILD - 1000)}
        builder.batch(number, number % 2, began - 10, began, finished, arrived + 10, stages)
        builder.moments(serialise_us=finished, serialised_us=finished + 150)
        builder.moments(deserialise_us=finished + 200, arrived_us=arrived)
        taken = arrived + 10 + AFTER
        if number % each == 0:
            begin = taken - (STEP - OWN)
            builder.wait(begin, STEP - OWN, "wait::Prefetch").step(begin, each * STEP)
    return builder


def captured(folder: Path, *more: dict[str, Any]) -> Loop:
    return read_loop(program(*more).write(folder / "run.pt.trace.json"))[0]


def test_what_that_thread_does_is_no_part_of_the_step(tmp_path: Path) -> None:
    made = captured(tmp_path)
    assert made.ahead == 1
    assert (made.taking_ns + made.held_ns).mean() / 1e3 == pytest.approx(RECEIVING + AFTER, rel=0.01)
    without = predict(made, Change(stages=(("transform::Parse", 0.0),))).step_us
    assert without.low <= OWN <= without.high
    assert without.value == pytest.approx(OWN, rel=0.05)  # it was all of this and what the thread does, one by one


def test_what_steps_iterates_is_the_loader_behind_it(tmp_path: Path) -> None:
    """A generator of the queue was said to have no DataLoader workers, and two to be twice as fast."""
    made, plain = captured(tmp_path, GENERATOR), captured(tmp_path)
    assert made.settings == plain.settings == Settings(2, 2, in_order=True)
    assert made.loader.dataset == "Texts" and made.other_loaders == ()
    assert made.build.parts == plain.build.parts and made.ahead == 1
    without = predict(made, Change(stages=(("transform::Parse", 0.0),))).step_us
    assert without.value == pytest.approx(OWN, rel=0.05)


def test_nor_has_a_generator_workers_of_its_own_that_hands_on_batches_in_the_training_thread(tmp_path: Path) -> None:
    """Its waits contain those for the DataLoader, which its code names and no argument does."""
    made = program(GENERATOR)
    for row in [row for row in made.events if row["name"] == "wait::Prefetch"]:
        made.wait(row["ts"] + 1, row["dur"] - 2, NEXT)
    read = read_loop(made.write(tmp_path / "run.pt.trace.json"))[0]
    assert read.settings.workers == 2 and read.ahead == 0


def test_a_loader_that_something_else_takes_from_is_not_behind_what_steps_iterates() -> None:
    """An evaluation by the training thread, in two of the steps of a loop over an iterator of another library."""
    made = program(GENERATOR)
    results = results_of(made)
    assert results.use.main == 0
    times = made.batches["consumed_us"]
    times[:] = [time if number < 2 else None for number, time in enumerate(times)]
    assert results_of(made).use.main == 1


def test_nothing_is_predicted_of_batches_that_are_not_one_for_each_step(tmp_path: Path) -> None:
    with pytest.raises(NothingToReport) as raised:
        read_loop(program(GENERATOR, each=3).write(tmp_path / "run.pt.trace.json"))
    who = "which is no DataLoader, while another thread takes batches from the DataLoader of Texts (batches of 4, num_"
    assert f"its steps take from a generator, {who}" in str(raised.value)


def test_a_thread_that_takes_longer_than_the_step_is_what_the_loop_waits_for() -> None:
    assert step_ms(loop(8, own_ms=4, receive=taking(9), ahead=2)) == pytest.approx(9, rel=1e-3)


def test_such_a_thread_is_said_to_limit_and_not_the_transfer_alone() -> None:
    """A stranger's prefetcher converted its batches: "transfer limits" sent him to shared memory."""
    made = loop(8, own_ms=4, receive=taking(9), ahead=2)
    (said,) = limit_texts([replace(predict(made, Change(prefetch=8)), limited_by=TRANSFER)], made)
    assert "the thread that takes the batches limits: receiving them (transfer), and what it does with them" in said


def taking(ms: float) -> Timed:
    return Timed(((),), np.array([[ms * 1e6]]))


@pytest.mark.parametrize(("ahead", "expected"), [(0, 14), (1, 10), (4, 10)])
def test_receiving_goes_on_beside_the_step_or_is_a_part_of_it(ahead: int, expected: float) -> None:
    assert step_ms(loop(8, receive=taking(4), ahead=ahead)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("in_order", [True, False])
def test_that_thread_takes_batches_as_workers_build_them(in_order: bool) -> None:
    settings = Settings(2, 2, in_order=in_order)
    assert step_ms(loop(2, receive=taking(4), ahead=2, settings=settings)) == pytest.approx(15, rel=1e-3)


def test_a_thread_that_a_worker_holds_up_is_as_slow_as_that() -> None:
    """It gets each batch when its worker has built the next one."""
    made = loop(1, build_ms=30, own_ms=10, receive=taking(1), ahead=2, held_ns=np.array([np.inf]))
    assert step_ms(made) == pytest.approx(30, rel=0.05)


def test_without_workers_the_thread_builds_beside_the_step() -> None:
    assert step_ms(loop(0, build_ms=6, own_ms=10, ahead=2)) == pytest.approx(10)
    assert step_ms(loop(0, build_ms=30, own_ms=10, ahead=2)) == pytest.approx(30)
