"""``wait="auto"``: when to record. Prefetched batches hide a slow loader until they are used up, so a window that opens
too early shows a loop that does not last.

Recording starts when the loop has taken three times as many steps as there are prefetched batches, counted from the
last epoch's start, and its step time has settled: the mean of its latest steps is within `SETTLED` of that of the steps
before. It starts in any case after `LONGEST_S`, after twenty times the prefetched batches, and early enough to fit into
an epoch that is long enough for it.

``active="auto"``: how many steps. Lines of a stage are named from 100 samples on, and a thread is sampled some 200
times per second; so a window of short steps lasts `LONG_ENOUGH_S`, and ends before an epoch runs out of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final, NamedTuple

from annotate.options import FEWEST_STEPS, CaptureOptions
from annotate.saying import warn

FEWEST: Final = 10
"""Steps before a window, as a fixed `wait` had them."""
SETTLED: Final = 0.1
LONGEST_S: Final = 60.0
LONG_ENOUGH_S: Final = 0.5
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
        return WhenSteady(options.warmup, fewest, options.repeat, look, chooses_length=chooses)
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
    return max(FEWEST_STEPS, wanted if left is None else min(wanted, left))


class WhenSteady:
    """A schedule for ``torch.profiler.profile``: called for one step after the other, from 0."""

    def __init__(
        self, warmup: int, active: int, repeat: int, look: Callable[[], Loop], *, chooses_length: bool = False
    ) -> None:
        """
        Args:
            chooses_length: `active` steps are the fewest.
        """
        self._warmup, self._active, self._repeat = warmup, active, repeat
        self._chooses_length = chooses_length
        self._length = active
        """Of the cycle that is on."""
        self._look = look
        self._times: list[float] = []
        """When each step since the last window began."""
        self._epochs = 0
        self._epoch_began = 0
        self._first: int | None = None
        """The step with which the cycle that is on began; None between cycles."""
        self._cycles = 0

    def __call__(self, step: int) -> Any:
        from torch.profiler import ProfilerAction

        self._times.append(perf_counter())
        if self._first is None and (not self._repeat or self._cycles < self._repeat) and self._is_time():
            self._first, self._length = step, self._length_now()
        if self._first is None:
            return ProfilerAction.NONE
        place = step - self._first
        if place < self._warmup:
            return ProfilerAction.WARMUP
        if place < self._warmup + self._length - 1:
            return ProfilerAction.RECORD
        self._first, self._cycles = None, self._cycles + 1
        self._times.clear()
        return ProfilerAction.RECORD_AND_SAVE

    def _length_now(self) -> int:
        if not self._chooses_length:
            return self._active
        loop, in_epoch = self._look(), len(self._times) - 1 - self._epoch_began
        left = None if loop.length is None else loop.length - in_epoch - self._warmup - loop.prefetched
        return window_length(self._times, left)

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
        count = max(_AT_LEAST_COMPARED, prefetched)
        if len(self._times) <= 2 * count:
            return False
        before, middle, now = (self._times[-1 - place * count] for place in (2, 1, 0))
        return abs((now - middle) - (middle - before)) <= SETTLED * (middle - before)
