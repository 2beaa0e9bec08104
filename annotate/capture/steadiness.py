"""``wait="auto"``: when to record. Prefetched batches hide a slow loader until they are used up, so a window that opens
too early shows a loop that does not last.

Recording starts when the loop has taken three times as many steps as there are prefetched batches, counted from the
last epoch's start, and its step time has settled: the mean of its latest steps is within `SETTLED` of that of the steps
before. It starts in any case after `LONGEST_S`, after twenty times the prefetched batches, and early enough to fit into
an epoch that is long enough for it.

The profiler's start keeps the loop waiting, up to seconds the first time, and all queues fill meanwhile: the loader's,
and those that a program has of its own. So its warm-up lasts until steps take what they took before (`still_drains`).

``active="auto"``: how many steps. Lines of a stage are named from 100 samples on, and a thread is sampled some 200
times per second; so a window of short steps lasts `LONG_ENOUGH_S`, and ends before an epoch runs out of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, Final, NamedTuple

from annotate.options import FEWEST_STEPS, CaptureOptions, has_other_ranks
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
_AT_LEAST_COMPARED: Final = 5


class Loop(NamedTuple):
    """What is known of the loop when a step begins."""

    prefetched: int
    """Batches that its loaders keep ready, at most."""
    epochs: int
    """How often loaders have been iterated."""
    length: int | None
    """Steps of an epoch, where it has a length."""


def schedule_of(options: CaptureOptions, look: Callable[[], Loop]) -> Callable[[int], Any]:
    """What torch's profiler asks at each step."""
    if options.warmup == 0:
        warn(
            "annotate.profile: with warmup=0 the first recorded step contains the profiler's start: use warmup=1, "
            "or more",
            UserWarning,
        )
    if options.wait == "auto":
        fewest, chooses = options.fewest_recorded, options.chooses_length
        alone = not has_other_ranks()
        return WhenSteady(options.warmup, fewest, options.repeat, look, chooses_length=chooses, drains=alone)
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
    ) -> None:
        """
        Args:
            chooses_length: `active` steps are the fewest.
            drains: `warmup` steps are the fewest; more are taken until queues are as full as they were.
        """
        self._warmup, self._active, self._repeat = warmup, active, repeat
        self._chooses_length, self._drains = chooses_length, drains
        self._length = active
        """Of the cycle that is on."""
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
        if self._began is None and (not self._repeat or self._cycles < self._repeat) and self._is_time():
            self._began = len(self._times) - 1
        if self._began is None:
            return ProfilerAction.NONE
        if self._opened is None:
            if self._warms_up(self._began):
                return ProfilerAction.WARMUP
            self._opened, self._length = step, self._length_now(self._began)
        if step < self._opened + self._length - 1:
            return ProfilerAction.RECORD
        self._began, self._opened, self._cycles = None, None, self._cycles + 1
        self._times.clear()
        return ProfilerAction.RECORD_AND_SAVE

    def _warms_up(self, began: int) -> bool:
        loop, taken = self._look(), len(self._times) - 1
        if taken - began < self._warmup:
            return True
        fits = loop.length is None or taken - self._epoch_began < loop.length - self._active
        before, since = self._times[: began + 1], self._times[began + 1 :]
        return self._drains and fits and still_drains(before, since, loop.prefetched)

    def _length_now(self, began: int) -> int:
        if not self._chooses_length:
            return self._active
        loop, in_epoch = self._look(), len(self._times) - 1 - self._epoch_began
        left = None if loop.length is None else loop.length - in_epoch - loop.prefetched
        return window_length(self._times[: began + 1], left)

    def _is_time(self) -> bool:
        loop, taken = self._look(), len(self._times) - 1
        if loop.epochs != self._epochs:
            self._epochs, self._epoch_began = loop.epochs, taken
        in_epoch = taken - self._epoch_began
        if loop.length is not None and 0 <= loop.length - self._warmup - self._active <= in_epoch:
            return True
        if taken < FEWEST:
            return False
        if self._times[-1] - self._times[0] > LONGEST_S or taken >= FEWEST + 20 * loop.prefetched:
            return True
        return in_epoch >= 3 * loop.prefetched and self._has_settled(loop.prefetched)

    def _has_settled(self, prefetched: int) -> bool:
        count = _compared(prefetched)
        if len(self._times) <= 2 * count:
            return False
        before, middle, now = (self._times[-1 - place * count] for place in (2, 1, 0))
        return abs((now - middle) - (middle - before)) <= SETTLED * (middle - before)
