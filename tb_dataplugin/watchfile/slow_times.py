"""Slow times that the recorded intervals show, and that were no event as they went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose
from statistics import median
from typing import Final

from tb_dataplugin.watchfile.lines import EventLine
from tb_dataplugin.watchfile.loaders import Interval, main_intervals, main_stalls
from tb_dataplugin.watchfile.reading import Part

_FEWEST: Final = 6
"""Intervals, with fewer of which none is unusual."""
_MOSTLY: Final = 0.5
_SIGMA: Final = 1.4826
_SIGMAS, _SHARE, _US = 4, 0.5, 2_000.0
"""By how much a turn of steps is above the usual for annotate's `usual` to call it slow; here of an interval."""


@dataclass(frozen=True, slots=True)
class SlowTime:
    """Seconds since 1970; microseconds per step, what is usual are medians of the process's intervals."""

    begin: float
    end: float
    step_us: float
    usual_step_us: float
    wait_us: float
    usual_wait_us: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Data wait per step, in microseconds: the mean of some steps, and the median of those before."""

    mean_us: float
    usual_us: float
    by_intervals: bool = False
    """Of some intervals, and the median of the means of others."""


def wait_meanwhile(part: Part, begin: float, until: float | None) -> Wait | None:
    """In the intervals that lie in a time for the most part, beside those before it, as what is usual is of the steps
    before; None where there are too few to compare, or where the time is short beside an interval, which tells of
    other steps then.
    """
    intervals = main_intervals(part)
    within = [each for each in intervals if _share_of(each, begin, until) >= _MOSTLY]
    before = [each.wait_us for each in intervals if each.end <= begin]
    steps = sum(each.numbers.steps for each in within)
    if not steps or len(before) < _FEWEST:
        return None
    return Wait(sum(each.numbers.wait_us for each in within) / steps, median(before), by_intervals=True)


def _share_of(interval: Interval, begin: float, until: float | None) -> float:
    """How much of the interval lies in that time."""
    end = max(interval.end, begin) if until is None else until
    common = min(interval.end, end) - max(interval.begin, begin)
    return max(0.0, common) / (interval.end - interval.begin) if interval.end > interval.begin else 0.0


def slow_times(part: Part) -> list[SlowTime]:
    """Neighbouring intervals that took longer than others of this process, whose stalls left out."""
    intervals, stalls = main_intervals(part), main_stalls(part)
    if len(intervals) < _FEWEST:
        return []
    times = [_calm([interval], stalls).mean_us or interval.step_us for interval in intervals]
    usual = median(times)
    sigma = _SIGMA * median(abs(time - usual) for time in times)
    most = usual + max(_SIGMAS * sigma, _SHARE * usual, _US)
    usual_wait = median(interval.wait_us for interval in intervals)
    groups = groupby(zip(intervals, times, strict=True), key=lambda each: each[1] > most)
    found = [[interval for interval, _ in several] for is_slow, several in groups if is_slow]
    return [_together(several, usual, usual_wait) for several in found if _is_slow(several, stalls, most)]


def _is_slow(intervals: Sequence[Interval], stalls: Sequence[EventLine], most: float) -> bool:
    """Steps other than stalls are, and have most of that time: of an interval with one step, which stalled and was
    recorded from then on, nothing else is known.
    """
    calm = _calm(intervals, stalls)
    whole_us = sum(each.numbers.step_us + each.numbers.other_us for each in intervals)
    return calm.mean_us > most and calm.us >= _MOSTLY * whole_us


@dataclass(frozen=True, slots=True)
class _Calm:
    """Steps without those that stalled; microseconds."""

    steps: int
    us: float

    @property
    def mean_us(self) -> float:
        """0: there are none."""
        return self.us / self.steps if self.steps else 0.0


def _calm(intervals: Sequence[Interval], stalls: Sequence[EventLine]) -> _Calm:
    """Those of neighbouring intervals without the longest, and without others that were an event."""
    numbers = [each.numbers for each in intervals]
    steps, step_us = sum(each.steps for each in numbers), sum(each.step_us for each in numbers)
    rest_us = (step_us - sum(each.wait_us for each in numbers)) / steps
    longest = max(numbers, key=lambda each: each.longest_step_us)
    of_longest = (longest.longest_step_us, longest.longest_wait_us)
    told = [event for event in stalls if intervals[0].begin < event.t <= intervals[-1].end]
    others = [event for event in told if not any(isclose(event.took_us, us, abs_tol=1.0) for us in of_longest)]
    others_us = sum(event.took_us + (rest_us if event.what == "data wait" else 0.0) for event in others)
    left = max(0, steps - 1 - len(others))
    return _Calm(left, max(0.0, step_us - longest.longest_step_us - others_us) if left else 0.0)


def _together(intervals: Sequence[Interval], usual: float, usual_wait: float) -> SlowTime:
    steps = sum(interval.numbers.steps for interval in intervals)
    return SlowTime(
        begin=intervals[0].begin,
        end=intervals[-1].end,
        step_us=sum(interval.numbers.step_us for interval in intervals) / steps,
        usual_step_us=usual,
        wait_us=sum(interval.numbers.wait_us for interval in intervals) / steps,
        usual_wait_us=usual_wait,
    )
