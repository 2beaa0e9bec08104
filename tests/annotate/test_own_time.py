from __future__ import annotations

import pytest

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
