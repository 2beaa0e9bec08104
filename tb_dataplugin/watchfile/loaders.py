"""Which loader a run is told by, and what each interval has of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tb_dataplugin.watchfile.lines import EventLine, IntervalLine, LoaderNumbers
from tb_dataplugin.watchfile.reading import Part


@dataclass(frozen=True, slots=True)
class Interval:
    """One with steps of the main loader; seconds since 1970, microseconds."""

    begin: float
    end: float
    numbers: LoaderNumbers

    @property
    def step_us(self) -> float:
        """Mean."""
        return self.numbers.step_us / self.numbers.steps

    @property
    def wait_us(self) -> float:
        return self.numbers.wait_us / self.numbers.steps

    def stage_us(self, name: str) -> float | None:
        """Per batch; None where none was measured."""
        return self.numbers.stage_us.get(name, 0.0) / self.numbers.measured if self.numbers.measured else None


def main_loader(part: Part) -> int:
    """Number of the loader with most steps."""
    steps: Counter[int] = Counter()
    for interval in part.intervals:
        for each in interval.loaders:
            steps[each.loader] += each.steps
    return max(steps, key=lambda loader: (steps[loader], -loader), default=0)


def main_numbers(part: Part) -> list[LoaderNumbers]:
    main = main_loader(part)
    return [each for interval in part.intervals for each in _of(interval, main)]


def main_stalls(part: Part) -> list[EventLine]:
    """Single steps and data waits of the main loader; no first batches, which are in no step."""
    main = main_loader(part)
    stalls = (event for event in part.events if event.change == "stall" and event.loader == main)
    return [event for event in stalls if event.what != "first batch"]


def main_intervals(part: Part) -> list[Interval]:
    """In the order of time."""
    main = main_loader(part)
    return [
        Interval(interval.begin, interval.end, each)
        for interval in part.intervals
        for each in _of(interval, main)
        if each.steps
    ]


def _of(interval: IntervalLine, loader: int) -> list[LoaderNumbers]:
    return [each for each in interval.loaders if each.loader == loader]


def num_workers(part: Part) -> int:
    """Of the main loader."""
    main = main_loader(part)
    return next((loader.num_workers for loader in part.loaders if loader.loader == main), 0)
