"""Slow calls are exceptions only where they are few, and come by chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tb_dataplugin.analyses.call_kinds import SlowKind, common_ns, find_slow_kind

US = 1_000


def kind_of(micros: npt.ArrayLike, threads: int = 1) -> SlowKind | None:
    """Calls in this order, dealt to threads in turns."""
    duration = np.asarray(micros, dtype=np.int64) * US
    start = np.arange(len(duration), dtype=np.int64)
    return find_slow_kind(duration, start, (start % threads).astype(np.int32))


def test_each_fourth_call_is_a_kind() -> None:
    found = kind_of([20_000, 30, 30, 30] * 30)
    assert found is not None
    assert (found.calls, found.of) == (30, 120)
    assert found.time_share == pytest.approx(0.9955, abs=1e-4)


@pytest.mark.parametrize("threads", (1, 2))
def test_rare_calls_at_even_distances_are_a_kind(threads: int) -> None:
    """A page of 30 items, however few pages there are; one call of another length does not hide it."""
    calls = np.repeat(([300] * 29 + [20_000]) * 4, threads)
    calls[5] = 2_000
    found = kind_of(calls, threads)
    assert found is not None and found.calls * 30 == found.of
    assert kind_of(([300] * 29 + [20_000]) * 3) is None  # so few may come so by chance


def test_bursts_of_various_sizes_are_a_kind() -> None:
    random = np.random.default_rng(1)
    calls = np.concatenate([[5_000, *[30] * random.integers(8, 16)] for _ in range(60)])
    found = kind_of(calls)
    assert found is not None and found.calls == 60 and found.calls < 0.1 * found.of


def test_few_calls_that_come_by_chance_are_exceptions() -> None:
    random, kinds = np.random.default_rng(2), 0
    for _ in range(100):
        kinds += kind_of(np.where(random.random(300) < 0.04, 20_000, 900), 2) is not None
    assert kinds <= 3


def test_calls_that_are_slow_one_after_the_other_are_exceptions() -> None:
    assert kind_of([900] * 100 + [20_000] * 8 + [900] * 132) is None


def test_calls_of_any_length_are_no_two_kinds() -> None:
    """On a crowded machine one in five takes five times as long as most, and as many half of that."""
    calls = np.random.default_rng(3).lognormal(7, 1.6, 600)
    assert (calls >= 5 * np.median(calls)).mean() > 0.14
    assert kind_of(calls) is None


def test_what_is_common_has_the_slowest_kind_that_is_a_considerable_part() -> None:
    calls = np.array([10, 10, 10, 100] * 10 + [80_000] * 2, dtype=np.int64)
    assert common_ns(calls) == 100
    assert common_ns(np.array([10] * 40 + [80_000] * 2, dtype=np.int64)) == 10
    assert common_ns(np.zeros(3, dtype=np.int64)) == 0


@pytest.mark.parametrize(("threads", "among_quick"), [(3, False), (1, True), (2, True)])
def test_slow_calls_of_one_worker_do_not_come_with_quick_ones(threads: int, among_quick: bool) -> None:
    """Each third call is slow: of three threads that take turns, all calls of one."""
    found = kind_of([30, 30, 3_000] * 40, threads)
    assert found is not None and found.among_quick == among_quick
