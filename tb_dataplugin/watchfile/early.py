"""Long steps before annotate.watch knows what is usual, which are no event: the recorded intervals show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tb_dataplugin.watchfile.histogram import percentile, total_times
from tb_dataplugin.watchfile.lines import EventLine, LoaderNumbers
from tb_dataplugin.watchfile.loaders import Interval, main_intervals, main_loader, main_stalls, num_workers
from tb_dataplugin.watchfile.reading import Part

_LEARNT, _LEARNT_TURNS = 60, 10
"""Steps after which annotate's `usual` tells a stall; or turns of as many steps as DataLoader workers, if these are
more."""
_FEWEST: Final = 50
"""Steps of a process, with fewer of which nothing is usual."""
_TIMES, _US = 3, 250_000.0
"""A stall, as in annotate's `usual`: so many times the longest of a usual round, and so much more than the median."""
_LONGEST: Final = 0.5 ** (1 / 20)
"""Of all steps, those that are shorter than the longest of 20 mostly is."""
_EARLY: Final = 0.75
"""Of the early steps: these may all be slow, and few of them are stalls."""
_TOLD: Final = 1.5
"""Times a stall that was an event, up to which a longer step is not told apart from that, as in annotate's `usual`."""
_OF_STEP: Final = 0.5


@dataclass(frozen=True, slots=True)
class EarlyStall:
    """The longest step of an interval; microseconds."""

    begin: float
    end: float
    """Of the interval, seconds since 1970."""
    what: str
    """data wait | step time"""
    took_us: float
    usual_us: float
    """Median of all steps of the process."""
    among: int
    """The process's first steps that it is one of."""
    may_be_first: bool
    """It is no data wait, and may be the very first step, which compiles and allocates in many programs."""


def early_stalls(part: Part, slow: Sequence[tuple[float, float | None]]) -> list[EarlyStall]:
    """
    Args:
        slow: times that were events, from when until when; seconds since 1970.
    """
    intervals, stalls = main_intervals(part), main_stalls(part)
    numbers = [each.numbers for each in intervals]
    steps = list(accumulate((each.steps for each in numbers), initial=0))
    learnt = max(_LEARNT, _LEARNT_TURNS * num_workers(part))
    early = [each for each, before in zip(intervals, steps, strict=False) if before < learnt]
    if steps[-1] < _FEWEST:
        return []
    usual = _Usual([each.numbers for each in early], numbers)
    told = [*_told(early, stalls), *(each for each in early if any(_meet(each, time) for time in slow))]
    found = (_stall_of(each, among, usual) for each, among in zip(early, steps[1:], strict=False) if each not in told)
    return [each for each in found if each is not None]


class _Usual:
    """Microseconds."""

    def __init__(self, early: Sequence[LoaderNumbers], numbers: Sequence[LoaderNumbers]) -> None:
        steps, early_steps = (total_times(each.step_times for each in several) for several in (numbers, early))
        waits, early_waits = (total_times(each.wait_times for each in several) for several in (numbers, early))
        self.step, self.wait = percentile(steps, 0.5), percentile(waits, 0.5)
        longest = max(percentile(steps, _LONGEST), percentile(early_steps, _EARLY))
        longest_wait = max(percentile(waits, _LONGEST), percentile(early_waits, _EARLY), self.step)
        self.most = max(self.step + _US, _TIMES * longest)
        self.most_wait = max(self.wait + _US, _TIMES * longest_wait)


def _stall_of(interval: Interval, among: int, usual: _Usual) -> EarlyStall | None:
    step, wait = interval.numbers.longest_step_us, interval.numbers.longest_wait_us
    if wait > usual.most_wait and wait >= _OF_STEP * step:
        return EarlyStall(interval.begin, interval.end, "data wait", wait, usual.wait, among, may_be_first=False)
    if step > usual.most:
        is_first = interval.numbers.steps == among
        return EarlyStall(interval.begin, interval.end, "step time", step, usual.step, among, is_first)
    return None


def _told(intervals: Sequence[Interval], stalls: Sequence[EventLine]) -> Iterator[Interval]:
    """Those whose longest step was an event, or lay beside one."""
    for each in intervals:
        took = (event.took_us for event in stalls if each.begin < event.t <= each.end)
        if _TOLD * max(took, default=0.0) >= each.numbers.longest_step_us:
            yield each


def _meet(interval: Interval, time: tuple[float, float | None]) -> bool:
    begin, until = time
    return interval.end > begin and (until is None or interval.begin < until)


def event_of(stall: EarlyStall, part: Part) -> EventLine:
    return EventLine(
        t=stall.begin,
        number=0,
        change="stall",
        what=stall.what,
        loader=main_loader(part),
        took_us=stall.took_us,
        usual_us=stall.usual_us,
    )
