"""Workers that wait for one another are told from those that wait for something slow, by when the others work."""

from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.analyses.exclusion import exclude_each_other
from tb_dataplugin.analyses.line_rows import Mask
from tb_dataplugin.model.intervals import Window

WINDOW = Window(0, 1_000_000_000)
EVERY = 2_000_000
MOMENTS = range(WINDOW.start_ns, WINDOW.end_ns, EVERY)


def taking_turns(workers: int, random: np.random.Generator) -> tuple[Mask, Mask]:
    """One has the lock for some time; the others wait, or are idle for a part of that."""
    waits, works = (np.zeros((workers, len(MOMENTS)), dtype=np.bool_) for _ in range(2))
    at, owner = 0, 0
    while at < len(MOMENTS):
        end = at + int(random.integers(2, 12))
        works[owner, at:end] = True
        for other in set(range(workers)) - {owner}:
            waits[other, at + int(random.integers(0, 6)) : end] = True
        at, owner = end, int(random.integers(0, workers))
    return waits, works


def each_for_itself(workers: int, random: np.random.Generator) -> tuple[Mask, Mask]:
    """Each waits for something slow and works, in turns of its own."""
    waits, works = (np.zeros((workers, len(MOMENTS)), dtype=np.bool_) for _ in range(2))
    for worker in range(workers):
        at = 0
        while at < len(MOMENTS):
            middle = at + int(random.integers(2, 12))
            end = middle + int(random.integers(2, 12))
            waits[worker, at:middle], works[worker, middle:end] = True, True
            at = end
    return waits, works


def excluded(waits: Mask, works: Mask) -> bool | None:
    track = np.repeat(np.arange(len(waits)), len(MOMENTS))
    times = np.tile(np.array(MOMENTS, dtype=np.int64), len(waits))
    return exclude_each_other(track, times, waits.ravel(), works.ravel(), WINDOW)


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_that_take_turns_share_a_lock(workers: int) -> None:
    found = [excluded(*taking_turns(workers, np.random.default_rng(seed))) for seed in range(10)]
    assert found.count(True) >= 9


@pytest.mark.parametrize(("workers", "answer"), [(2, False), (3, False), (8, None)])
def test_workers_that_wait_for_something_slow_share_none(workers: int, answer: bool | None) -> None:
    """Of many one nearly always works: that says nothing."""
    found = [excluded(*each_for_itself(workers, np.random.default_rng(seed))) for seed in range(10)]
    assert found.count(answer) >= 9


def test_waits_that_alternate_like_clockwork_prove_nothing() -> None:
    """Two that read and decode for equally long may keep step without a lock."""
    first = np.arange(len(MOMENTS)) // 10 % 2 == 0
    assert excluded(np.stack([first, ~first]), np.stack([~first, first])) is None


def test_one_worker_or_no_waiting_is_no_lock() -> None:
    waits, works = taking_turns(2, np.random.default_rng(0))
    assert excluded(waits[:1], works[:1]) is None
    assert excluded(np.zeros_like(waits), works) is None
