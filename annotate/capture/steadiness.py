"""``wait="auto"``: when to record. Prefetched batches hide a slow loader until they are used up, so a window that opens
too early shows a loop that does not last.

Recording starts when the loop has taken three times as many steps as there are prefetched batches, counted from the
last epoch's start, and its step time has settled: the mean of its latest steps is within `SETTLED` of that of the steps
before. It starts in any case after `LONGEST_S`, after twenty times the prefetched batches, and early enough to fit into
an epoch that is long enough for it. Of several ranks each would find its own steps steady, so there steps are counted
and no time decides: all ranks record the same ones.

The profiler's start keeps the loop waiting, up to seconds the first time, and all queues fill meanwhile: the loader's,
and those that a program has of its own. So its warm-up lasts until steps take what they took before (`still_drains`).

``active="auto"``: how many steps. Lines of a stage are named from 100 samples on, and a thread is sampled some 200
times per second; so a window of short steps lasts `LONG_ENOUGH_S`, and ends before an epoch runs out of batches. It is
shorter where its trace would pause the loop for longer than `LONG_PAUSE_S`, by what the events of one step cost that
is recorded before (a trial), and never shorter than a report needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

from annotate.options import FEWEST_STEPS, LEAST_STEPS, CaptureOptions, has_other_ranks
from annotate.saying import warn

FEWEST: Final = 10
"""Steps before a window, as a fixed `wait` had them."""
SETTLED: Final = 0.1
LONGEST_S: Final = 60.0
LONG_ENOUGH_S: Final = 1.5
"""At a stack every 5 to 8 ms: a stage with most of the time has the 100 that its lines need."""
SHORTER_S: Final = 0.5
"""The same for windows of more than `MOST_FOR_LINES` steps: the loop stands while a trace is written, for each step."""
MOST_FOR_LINES: Final = 50
LENGTHS: Final = (FEWEST_STEPS, 20, 30, 50, 100, 200)
"""Steps of a window."""
LONG_PAUSE_S: Final = 3.0
"""From which a pause is avoided where that is possible, else mentioned: somebody who looks on would take it for a
fault.
"""
_AT_LEAST_COMPARED: Final = 5
_MOST_WRITTEN: Final = 1000
"""Steps before a window whose durations are in its trace: some kilobytes."""


class Loop(NamedTuple):
    """What is known of the loop when a step begins."""

    prefetched: int
    """Batches that its loaders keep ready, at most."""
    epochs: int
    """How often loaders have been iterated."""
    length: int | None
    """Steps of an epoch, where it has a length."""


class Pause(NamedTuple):
    """What one recorded step adds to the pause in which a trace is written."""

    events: int
    seconds: float


class Shortened(NamedTuple):
    """A window that would have paused the loop for long."""

    steps: int
    wanted: int
    pause: Pause


class EndsWithEpoch(NamedTuple):
    """A window that would be longer by its time, but ends before its epoch runs out of batches."""

    steps: int
    wanted: int


Fewer = Shortened | EndsWithEpoch
"""A window with fewer steps than it would have by their time."""


class Trial(Protocol):
    """Records one step before a window, for what its events cost."""

    def begin_trial(self) -> None: ...

    def end_trial(self) -> Pause | None: ...


def shortened(wanted: int, pause: Pause | None) -> Shortened | None:
    """The window whose pause is short, or that has the fewest steps that a report needs; None: the wanted one is."""
    if pause is None or wanted * pause.seconds <= LONG_PAUSE_S:
        return None
    steps = max(LEAST_STEPS, int(LONG_PAUSE_S / pause.seconds))
    return Shortened(steps, wanted, pause) if steps < wanted else None


def shortened_by(schedule: object) -> Fewer | None:
    """The latest window of a schedule, where its pause would have been long, or few batches of its epoch were left."""
    return schedule.shortened if isinstance(schedule, WhenSteady) else None


def steps_before(times: Sequence[float], prefetched: int) -> list[float]:
    """Microseconds that each step before a window took, without those of the first batches, of which queues were full.

    Args:
        times: when an epoch's steps began until the profiler's start, seconds.
    """
    ends = times[max(1, prefetched) :][-_MOST_WRITTEN - 1 :]
    return [round(1e6 * (end - start), 1) for start, end in pairwise(ends)]


def before_us(schedule: object) -> list[float]:
    """`steps_before` of the latest window of a schedule, where this saw them."""
    return schedule.before_us if isinstance(schedule, WhenSteady) else []


def fewest_of(schedule: object, options: CaptureOptions) -> int:
    """Steps that the latest window of a schedule has, at least."""
    window = shortened_by(schedule)
    return min(options.fewest_recorded, window.steps) if window else options.fewest_recorded


def schedule_of(
    options: CaptureOptions, look: Callable[[], Loop], trial: Callable[[], Trial] | None = None
) -> Callable[[int], Any]:
    """What torch's profiler asks at each step.

    Args:
        trial: who records a step before a window.
    """
    if options.warmup == 0:
        warn(
            "annotate.profile: with warmup=0 the first recorded step contains the profiler's start: use warmup=1, "
            "or more",
            UserWarning,
        )
    if options.wait == "auto":
        fewest, chooses = options.fewest_recorded, options.chooses_length
        tries = trial if options.bounds_pause else None
        return WhenSteady(
            options.warmup,
            fewest,
            options.repeat,
            look,
            chooses_length=chooses,
            drains=not has_other_ranks(),
            trial=tries,
        )
    return partial(_counted, options.wait, options.warmup, options.fewest_recorded, options.repeat)


def _counted(wait: int, warmup: int, active: int, repeat: int, step: int) -> Any:
    """As ``torch.profiler.schedule``, whose warnings are about its caller: that would be a line of ours."""
    from torch.profiler import ProfilerAction

    cycle, place = divmod(step, wait + warmup + active)
    if (repeat and cycle >= repeat) or place < wait:
        return ProfilerAction.NONE
    if place < wait + warmup:
        return ProfilerAction.WARMUP
    return ProfilerAction.RECORD if place < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE


def window_length(times: Sequence[float], left: int | None) -> int:
    """Steps of a window that is long enough for lines.

    Args:
        times: when steps began, seconds, the latest last.
        left: steps that the loop can go on as it does; None: not known.
    """
    latest = times[-2 * FEWEST - 1 :]
    if len(latest) < 2 or latest[-1] <= latest[0]:
        return FEWEST_STEPS
    each = (latest[-1] - latest[0]) / (len(latest) - 1)
    wanted = next((length for length in LENGTHS if length * each >= LONG_ENOUGH_S), LENGTHS[-1])
    if wanted > MOST_FOR_LINES:
        shorter = next((length for length in LENGTHS if length * each >= SHORTER_S), LENGTHS[-1])
        wanted = max(MOST_FOR_LINES, shorter)
    return max(FEWEST_STEPS, wanted if left is None else min(wanted, left))


def still_drains(before: Sequence[float], since: Sequence[float], prefetched: int) -> bool:
    """Whether steps are faster than they were, as they are while a queue that filled up is emptied. One step may be
    slow by chance: where loaders prefetch, as many are taken as they have ready.

    Args:
        before: when steps began until the profiler's start, seconds, the latest last.
        since: the same after it.
        prefetched: batches that loaders keep ready, at most; other queues are emptied within `FEWEST` steps.
    """
    count = _compared(prefetched)
    if len(before) < 2 or not 2 <= len(since) <= max(FEWEST, 3 * prefetched):
        return False
    return len(since) <= prefetched or _mean_step(since, count) < (1 - SETTLED) * _mean_step(before, count)


def _compared(prefetched: int) -> int:
    """Steps whose mean is compared: whole rounds of the DataLoader workers, since their batches come in bunches."""
    return max(1, prefetched) * ceil(_AT_LEAST_COMPARED / max(1, prefetched))


def _mean_step(times: Sequence[float], most: int) -> float:
    """Of the latest steps."""
    count = min(most, len(times) - 1)
    return (times[-1] - times[-1 - count]) / count


class WhenSteady:
    """A schedule for ``torch.profiler.profile``: called for one step after the other, from 0."""

    def __init__(
        self,
        warmup: int,
        active: int,
        repeat: int,
        look: Callable[[], Loop],
        *,
        chooses_length: bool = False,
        drains: bool = False,
        trial: Callable[[], Trial] | None = None,
    ) -> None:
        """With other ranks, by the count of steps alone.

        Args:
            chooses_length: `active` steps are the fewest.
            drains: `warmup` steps are the fewest; more are taken until queues are as full as they were.
            trial: who records a step before the warm-up, so that the window is as long as its pause may be.
        """
        self._warmup, self._active, self._repeat = warmup, active, repeat
        self._trial = trial
        self._before: list[float] | None = None
        """When steps began until the trial, if one was; a trial takes longer than other steps."""
        self._pause: Pause | None = None
        self.shortened: Fewer | None = None
        """The latest window, where it is shorter than it would be by its time."""
        self.before_us: list[float] = []
        """Durations of the steps before the latest window, as `steps_before`."""
        self._chooses_length, self._drains = chooses_length, drains
        self._length = active
        """Of the cycle that is on."""
        self._counts_only = has_other_ranks()
        self._look = look
        self._times: list[float] = []
        """When each step since the last window began."""
        self._epochs = 0
        self._epoch_began = 0
        self._began: int | None = None
        """Place in `_times` of the step with which the warm-up began; None between cycles."""
        self._opened: int | None = None
        """The first step of the window that is open."""
        self._cycles = 0

    def __call__(self, step: int) -> Any:
        from torch.profiler import ProfilerAction

        self._times.append(perf_counter())
        if self._began is None and (not self._repeat or self._cycles < self._repeat) and self._is_prepared():
            self._began = len(self._times) - 1
        if self._began is None:
            return ProfilerAction.NONE
        if self._opened is None:
            if self._warms_up(self._began):
                return ProfilerAction.WARMUP
            self._opened, self._length = step, self._length_now()
        if step < self._opened + self._length - 1:
            return ProfilerAction.RECORD
        self._began, self._opened, self._cycles = None, None, self._cycles + 1
        self._times.clear()
        self._before = None
        return ProfilerAction.RECORD_AND_SAVE

    def _is_prepared(self) -> bool:
        """Whether the warm-up begins: it is time, and a trial is over."""
        if self._before is not None and self._trial is not None:
            self._pause = self._trial().end_trial()
            return True
        if not self._is_time():
            return False
        self._before, self._pause = self._times.copy(), None
        self.before_us = steps_before(self._times[max(0, self._epoch_began) :], self._look().prefetched)
        if self._trial is None or self._spare() == 0:
            return True
        self._trial().begin_trial()
        return False

    def _spare(self) -> int | None:
        """Steps of the epoch beside those of the warm-up and of the window that are left."""
        length = self._look().length
        in_epoch = len(self._times) - 1 - self._epoch_began
        return None if length is None else max(0, length - in_epoch - self._warmup - self._active)

    def _warms_up(self, began: int) -> bool:
        loop, taken = self._look(), len(self._times) - 1
        if taken - began < self._warmup:
            return True
        fits = loop.length is None or taken - self._epoch_began < loop.length - self._active
        since = self._times[began + 1 :]
        return self._drains and fits and still_drains(self._before or [], since, loop.prefetched)

    def _length_now(self) -> int:
        by_time = length = self._active
        if self._chooses_length:
            loop, in_epoch = self._look(), len(self._times) - 1 - self._epoch_began
            left = None if loop.length is None else loop.length - in_epoch - loop.prefetched
            times = (self._before or [])[1:]  # the first one began before the loop did
            by_time, length = window_length(times, None), window_length(times, left)
        ends = EndsWithEpoch(length, by_time) if length < by_time else None
        self.shortened = shortened(length, self._pause) or ends
        return self.shortened.steps if self.shortened else length

    def _is_time(self) -> bool:
        loop, taken = self._look(), len(self._times) - 1
        if loop.epochs != self._epochs:
            self._epochs, self._epoch_began = loop.epochs, taken
        in_epoch = taken - self._epoch_began
        latest = in_epoch if self._trial is None else in_epoch + 1
        if loop.length is not None and 0 <= loop.length - self._warmup - self._active <= latest:
            return True
        if taken < FEWEST:
            return False
        is_used_up = in_epoch >= 3 * loop.prefetched
        if taken >= FEWEST + 20 * loop.prefetched or (self._counts_only and is_used_up):
            return True
        if self._counts_only:
            return False
        is_late = self._times[-1] - self._times[0] > LONGEST_S
        return is_late or (is_used_up and self._has_settled(loop.prefetched))

    def _has_settled(self, prefetched: int) -> bool:
        count = _compared(prefetched)
        if len(self._times) <= 2 * count:
            return False
        before, middle, now = (self._times[-1 - place * count] for place in (2, 1, 0))
        return abs((now - middle) - (middle - before)) <= SETTLED * (middle - before)
