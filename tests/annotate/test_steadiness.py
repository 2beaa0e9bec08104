"""``wait="auto"``: when a window opens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load
from torch.profiler import ProfilerAction
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.capture import steadiness
from annotate.capture.sentences import shorter_window
from annotate.capture.steadiness import Loop, Pause, WhenSteady, before_us, schedule_of, shortened_by
from annotate.options import LEAST_STEPS, CaptureOptions
from tb_dataplugin.analyses.doubts import FEW_STEPS


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(steadiness, "perf_counter", lambda: now[0])
    return now


def actions(when: WhenSteady, clock: list[float], durations: Iterable[float]) -> list[ProfilerAction]:
    found = []
    for step, duration in enumerate(durations):
        found.append(when(step))
        clock[0] += duration
    return found


def first(found: list[ProfilerAction]) -> int:
    return found.index(ProfilerAction.RECORD)


def loop(prefetched: int = 0, epochs: int = 1, length: int | None = None) -> Callable[[], Loop]:
    return lambda: Loop(prefetched, epochs, length)


def test_an_even_loop_without_prefetching_is_recorded_after_ten_steps(clock: list[float]) -> None:
    found = actions(WhenSteady(2, 3, 1, loop()), clock, [0.1] * 40)
    assert found[:10] == [ProfilerAction.NONE] * 10
    assert first(found) == 12
    assert found[12:15] == [ProfilerAction.RECORD] * 2 + [ProfilerAction.RECORD_AND_SAVE]
    assert set(found[15:]) == {ProfilerAction.NONE}


def test_buffers_are_used_up_first(clock: list[float]) -> None:
    draining = [0.1] * 32 + [0.3] * 200
    assert first(actions(WhenSteady(2, 3, 1, loop(16)), clock, draining)) >= 32 + 16


def test_a_loop_that_never_settles_is_recorded_all_the_same(clock: list[float]) -> None:
    assert first(actions(WhenSteady(2, 3, 1, loop(4)), clock, [1.02**step for step in range(200)])) <= 10 + 20 * 4 + 2


def test_a_slow_loop_is_not_waited_for_longer_than_a_minute(clock: list[float]) -> None:
    assert first(actions(WhenSteady(2, 3, 1, loop(64)), clock, [7.0] * 200)) == 12


def test_the_window_fits_into_an_epoch_that_is_long_enough(clock: list[float]) -> None:
    found = actions(WhenSteady(2, 10, 1, loop(16, length=15)), clock, [0.1] * 15)
    assert found[-1] is ProfilerAction.RECORD_AND_SAVE


def test_an_epoch_that_begins_is_waited_out(clock: list[float]) -> None:
    epochs = iter([1] * 12 + [2] * 1000)
    found = actions(WhenSteady(2, 3, 1, lambda: Loop(4, next(epochs), None)), clock, [0.1] * 60)
    assert first(found) >= 12 + 3 * 4


PAUSE, FAST, SLOW = 2.0, 0.01, 0.03


def with_full_queues(queue: int) -> list[float]:
    """The profiler's start, at step 10, keeps the loop waiting; `queue` batches are ready then."""
    return [SLOW] * 10 + [PAUSE] + [FAST] * queue + [SLOW] * 100


@pytest.mark.parametrize("queue", [0, 3, 8])
def test_a_window_opens_when_what_filled_up_is_used_up(clock: list[float], queue: int) -> None:
    """Of a queue that nobody told of: a thread's, or a dataset's own."""
    when = WhenSteady(2, 3, 1, loop(), drains=True)
    durations = with_full_queues(queue)
    opened = first(actions(when, clock, durations))
    assert opened == 12 if queue == 0 else opened >= 11 + queue
    assert FAST not in durations[opened : opened + 3]


def test_a_window_that_cannot_wait_longer_opens(clock: list[float]) -> None:
    """Ranks, whose windows are to have the same steps; a queue that lasts; an epoch that ends."""
    assert first(actions(WhenSteady(2, 3, 1, loop()), clock, with_full_queues(8))) == 12
    assert first(actions(WhenSteady(2, 3, 1, loop(), drains=True), clock, with_full_queues(90))) <= 10 + 2 + 10
    short = loop(length=18)
    assert first(actions(WhenSteady(2, 3, 1, short, drains=True), clock, with_full_queues(90))) <= 15


def test_batches_that_come_in_bunches_settle(clock: list[float]) -> None:
    """Two workers that finish together: of five steps two or three wait, of eight always four."""
    assert first(actions(WhenSteady(2, 3, 1, loop(4)), clock, [0.006, 0.034] * 60)) <= 30


def test_windows_repeat(clock: list[float]) -> None:
    found = actions(WhenSteady(1, 2, 0, loop()), clock, [0.1] * 100)
    assert found.count(ProfilerAction.RECORD_AND_SAVE) > 3


def recorded(found: list[ProfilerAction]) -> int:
    return found.count(ProfilerAction.RECORD) + found.count(ProfilerAction.RECORD_AND_SAVE)


@pytest.mark.parametrize(
    ("step_s", "options", "length", "steps"),
    [
        (0.3, {}, None, 10),
        (0.03, {}, None, 50),
        (0.011, {}, None, 50),
        (0.006, {}, None, 100),
        (0.0001, {}, None, 200),
        (0.03, {}, 29, 29 - 10 - 2),  # what is left of the epoch
        (0.03, {"active": 10}, None, 10),
        (0.03, {"lines": False}, None, 10),
        (0.03, {"wait": 4}, None, 10),
    ],
)
def test_a_window_of_short_steps_is_as_long_as_lines_need(
    clock: list[float], step_s: float, options: dict[str, object], length: int | None, steps: int
) -> None:
    asked: dict[str, object] = {"active": "auto", **options}
    when = schedule_of(CaptureOptions(logdir=Path(), **asked), loop(length=length))  # type: ignore[arg-type]
    assert recorded(actions(when, clock, [step_s] * 500)) == steps  # type: ignore[arg-type]


def test_the_windows_of_several_ranks_have_the_same_steps(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    when = schedule_of(CaptureOptions(logdir=Path(), active="auto"), loop())
    assert recorded(actions(when, clock, [0.01] * 500)) == 10  # type: ignore[arg-type]


@pytest.mark.parametrize(("prefetched", "opened"), [(0, 12), (2, 12), (8, 26)])
def test_ranks_open_their_windows_at_the_same_step_whatever_their_times(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, prefetched: int, opened: int
) -> None:
    """One is steady from its beginning, another never, another is slow."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    options = CaptureOptions(logdir=Path())
    for durations in ([0.1] * 100, [1.02**step for step in range(100)], [70.0] * 100):
        when = schedule_of(options, loop(prefetched))
        assert first(actions(when, clock, durations)) == opened  # type: ignore[arg-type]


class Tried:
    """A profiler whose trials say that a step of the window adds `seconds` to the pause."""

    def __init__(self, seconds: float | None) -> None:
        self.pause = None if seconds is None else Pause(events=73_630, seconds=seconds)
        self.begun = self.ended = 0

    def begin_trial(self) -> None:
        self.begun += 1

    def end_trial(self) -> Pause | None:
        self.ended += 1
        return self.pause


def steps_after(
    tried: Tried, clock: list[float], durations: Iterable[float], length: int | None = None, **options: object
) -> tuple[int, WhenSteady]:
    asked: dict[str, object] = {"active": "auto", **options}
    when = schedule_of(CaptureOptions(logdir=Path(), **asked), loop(length=length), lambda: tried)  # type: ignore[arg-type]
    return recorded(actions(when, clock, durations)), when  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(("seconds", "steps"), [(None, 50), (0.001, 50), (0.1, 30), (0.29, 10), (1.0, LEAST_STEPS)])
def test_a_window_is_as_long_as_its_pause_is_short_and_as_a_report_needs(
    clock: list[float], seconds: float | None, steps: int
) -> None:
    tried = Tried(seconds)
    count, when = steps_after(tried, clock, [0.03] * 500)
    assert (count, tried.begun, tried.ended) == (steps, 1, 1)
    window = shortened_by(when)
    assert (window is not None) == (steps < 50)
    assert window is None or (window.steps, window.wanted) == (steps, 50)
    assert LEAST_STEPS == FEW_STEPS


def test_the_step_that_is_tried_says_nothing_about_the_loop(clock: list[float]) -> None:
    """torch's profiler starts in it, which takes seconds the first time."""
    assert steps_after(Tried(0.0), clock, [0.03] * 10 + [7.0] + [0.03] * 500)[0] == 50


@pytest.mark.parametrize("options", [{"active": 10}, {"wait": 4}, {"wait": 4, "active": 30}])
def test_a_window_that_was_planned_is_as_it_was_planned(clock: list[float], options: dict[str, Any]) -> None:
    tried = Tried(1.0)
    assert steps_after(tried, clock, [0.03] * 500, **options)[0] == options.get("active", 10)
    assert tried.begun == 0


def test_windows_of_several_ranks_are_not_shortened(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert steps_after(Tried(1.0), clock, [0.03] * 500)[0] == 10


@pytest.mark.parametrize(("length", "begun"), [(12, 0), (13, 1), (200, 1)])
def test_an_epoch_without_a_step_to_spare_is_recorded_without_a_trial(
    clock: list[float], length: int, begun: int
) -> None:
    tried = Tried(0.0)
    assert steps_after(tried, clock, [0.3] * length, length)[0] == 10
    assert tried.begun == begun


def test_steps_before_a_window_are_those_of_its_epoch_without_the_first_ones(clock: list[float]) -> None:
    when = WhenSteady(2, 10, 1, lambda: Loop(4, 1 if clock[0] < 8.9 else 2, None))
    actions(when, clock, [0.9] * 10 + [0.5] * 4 + [0.1] * 60)
    assert len(when.before_us) >= 8
    assert set(when.before_us) == {100_000.0}


def test_each_window_has_the_steps_before_it(clock: list[float]) -> None:
    """What the profiler's start takes is in none."""
    when = WhenSteady(1, 2, 0, loop())
    assert before_us(when) == []
    actions(when, clock, [0.1] * 11 + [3.0] * 3)
    assert before_us(when) == [100_000.0] * 9
    actions(when, clock, [0.2] * 40)
    assert before_us(when) == [200_000.0] * 9
    assert before_us(lambda step: None) == [], "of a schedule of the user's nothing is known"


def test_steps_before_a_window_are_in_its_trace(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, active=2) as prof:
        for _ in prof.steps(DataLoader(TensorDataset(torch.arange(60)))):
            pass
    before = load(prof.trace_files[-1])["dataPipeline"]["steps"]["before_us"]
    assert len(before) >= 8
    assert all(0 < each < 1e6 for each in before)


@pytest.mark.parametrize(("length", "said"), [(32, True), (400, False), (None, False)])
def test_a_window_that_ends_before_its_epoch_says_how_long_it_would_be(
    clock: list[float], length: int | None, said: bool
) -> None:
    options = CaptureOptions(logdir=Path(), wait="auto", warmup=2, active="auto")
    when = schedule_of(options, loop(length=length))
    assert isinstance(when, WhenSteady)
    steps = recorded(actions(when, clock, [0.06] * 80))
    window = shortened_by(when)
    assert (window is not None) is said and (steps < 30) is said
    if window is not None:
        assert (window.steps, window.wanted) == (steps, 30)
        assert shorter_window(window) == (
            f"The window has {steps} steps instead of 30, since few batches of its epoch were left: with active=30 "
            "a window has 30, however few are left."
        )
