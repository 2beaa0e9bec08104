from __future__ import annotations

from _thread import get_ident
from pathlib import Path

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.capture import own_time
from annotate.capture.own_time import KEPT, OwnTime


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [0]
    monkeypatch.setattr(own_time, "perf_counter_ns", lambda: now[0])
    return now


def step(own: OwnTime, clock: list[int], us: int) -> None:
    own.begin()
    clock[0] += 1000 * us
    own.end()
    clock[0] += 77_000


def test_steps_count_from_a_batch_to_the_next_wait_while_nothing_records(clock: list[int]) -> None:
    own = OwnTime()
    step(own, clock, 5)
    own.is_untouched = False
    step(own, clock, 50)
    own.is_untouched = True
    step(own, clock, 6)
    assert own.before_us() == [5.0, 6.0]


def test_a_loop_that_was_left_has_no_end_of_its_step(clock: list[int]) -> None:
    own = OwnTime()
    own.begin()
    step(own, clock, 5)
    assert own.before_us() == [5.0]


def test_the_latest_steps_are_kept(clock: list[int]) -> None:
    own = OwnTime()
    for us in range(100):
        step(own, clock, us)
    assert own.before_us() == [float(us) for us in range(100 - KEPT, 100)]


class Batches:
    """From DataLoader workers, to the thread that runs this test."""

    def __init__(self, clock: list[int], thread: int = 0) -> None:
        self.clock, self.thread = clock, thread or get_ident()
        self.handed_out = 0
        self.last_handed_out = (0, 0)

    def hand_out(self) -> None:
        self.handed_out += 1
        self.last_handed_out = (self.thread, self.clock[0])


def stepped(own: OwnTime, batches: Batches, us: int, count: int = 1) -> None:
    """A step that the program ends itself, with so many batches."""
    for _ in range(count):
        batches.hand_out()
    batches.clock[0] += 1000 * us
    own.step_ends(batches)
    batches.clock[0] += 77_000


def test_where_the_program_ends_its_steps_they_count_from_the_batch_of_the_step(clock: list[int]) -> None:
    own, batches = OwnTime(), Batches(clock)
    for us, count in ((5, 1), (50, 2), (60, 0), (6, 1)):
        stepped(own, batches, us, count)
    assert own.before_us() == [5.0, 6.0]


def test_batches_that_another_thread_takes_begin_no_step(clock: list[int]) -> None:
    own = OwnTime()
    stepped(own, Batches(clock, thread=-1), 5)
    assert own.before_us() == []


def test_a_loop_over_the_steps_is_not_counted_twice(clock: list[int]) -> None:
    own, batches = OwnTime(), Batches(clock)
    batches.hand_out()
    step(own, clock, 5)
    own.step_ends(batches)
    assert own.before_us() == [5.0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loop_that_ends_its_steps_itself_has_them_in_its_capture(tmp_path: Path, workers: int) -> None:
    """Without DataLoader workers a batch is made where it is asked for: when it was there is not known."""
    loader = annotate.loader(DataLoader(TensorDataset(torch.arange(20)), num_workers=workers))
    with annotate.profile(tmp_path, wait=9, warmup=1, active=2) as prof:
        for _ in loader:
            prof.step()
    overhead = load(prof.trace_files[-1])["dataPipeline"]["overhead"]
    assert len(overhead.get("own_us_before", ())) == (9 if workers else 0)
