"""Stalls among the first steps of a loader, which are told once it is known what is usual."""

from __future__ import annotations

import pytest
from run_helpers import Loaders

from annotate.whole_run.series import Series

MS = 1_000_000
Told = list[tuple[str, int, float]]


def told(waits: dict[int, int], steps: dict[int, int], *, of: int, workers: int = 0, ends: bool = False) -> Told:
    """Stalls of a loop with data waits of 8 ms and steps of 20 ms, but for these batches; in milliseconds."""
    loaders = Loaders()
    series = Series(0, loaders, 8, None, workers)
    for batch in range(1, of + 1):
        wait = waits.get(batch, 8)
        series.stepped(0, batch, (wait + steps.get(batch, 12)) * MS, wait * MS)
    if ends:
        series.conclude()
    return [(event.what, event.batch, event.took / MS) for event in loaders.events if event.change == "stall"]


def test_each_of_several_early_stalls_is_told_also_beside_a_longer_later_one() -> None:
    stalls = {9: 900, 30: 1600, 70: 2000}
    assert not told(stalls, {45: 1200}, of=199), "nobody knows yet: two of three rounds have one"
    found = sorted(told(stalls, {45: 1200}, of=200), key=lambda each: each[1])
    assert found == [("data wait", 9, 900), ("data wait", 30, 1600), ("step time", 44, 1208), ("data wait", 70, 2000)]


def test_what_was_told_as_it_came_is_not_told_again() -> None:
    assert told({9: 900, 70: 2000}, {}, of=80) == [("data wait", 70, 2000)]
    assert told({9: 900, 70: 2000}, {}, of=400) == [("data wait", 70, 2000), ("data wait", 9, 900)]


def test_a_slow_time_among_them_is_no_stall() -> None:
    slow = dict.fromkeys(range(100, 190), 900)
    assert told(slow, {}, of=400) == [("data wait", 100, 900)], "with which it began"


def test_a_run_that_ends_before_that_tells_them_at_its_end() -> None:
    assert told({12: 900}, {}, of=52, ends=True) == [("data wait", 12, 900)]
    assert not told({12: 900}, {}, of=40, ends=True), "with so few steps nothing is usual"


def test_they_are_told_once() -> None:
    assert told({12: 900}, {}, of=400, ends=True) == [("data wait", 12, 900)]


@pytest.mark.parametrize("workers", [2, 8])
def test_the_first_batch_of_each_worker_comes_when_its_worker_has_started(workers: int) -> None:
    waits = dict.fromkeys(range(1, workers), 900) | {40: 1000}
    assert told(waits, {}, of=400, workers=workers) == [("data wait", 40, 1000)]


def test_a_slow_start_is_no_stall_and_many_long_steps_at_once_are_one() -> None:
    assert not told(dict.fromkeys(range(1, 30), 900), {}, of=200)
    assert told(dict.fromkeys(range(20, 26), 900), {}, of=200) == [("data wait", 20, 900)]
    assert not told(dict.fromkeys(range(1, 6), 200), {}, of=200), "no quarter of a second"


def test_the_first_step_is_told_as_what_it_is() -> None:
    assert told({}, {1: 2500}, of=200) == [("step time", 0, 2508)]
