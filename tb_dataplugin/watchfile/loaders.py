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


def longest_waited(part: Part) -> int:
    """Of the loaders that the run's steps take batches from, the one that they wait for longest: mostly the main one.
    What DataLoader workers do, and stages, are told of that.
    """
    waits: Counter[int] = Counter()
    main = main_loader(part)
    for interval in part.intervals:
        for each in interval.loaders:
            own_us = each.wait_us - each.others_wait_us if each.loader == main else each.joined_wait_us
            waits[each.loader] += round(own_us)
    others_us = sum(each.others_wait_us for each in main_numbers(part))
    return max(waits, key=lambda loader: (waits[loader], loader == main)) if others_us else main


def numbers_in_steps(part: Part) -> list[LoaderNumbers]:
    """Of the main loader, and of those whose batches come in its steps."""
    every = [each for interval in part.intervals for each in interval.loaders]
    loaders = {main_loader(part), *(each.loader for each in every if each.joined)}
    return [each for each in every if each.loader in loaders]


def numbers_of(part: Part, loader: int) -> list[LoaderNumbers]:
    return [each for interval in part.intervals for each in _of(interval, loader)]


def main_numbers(part: Part) -> list[LoaderNumbers]:
    return numbers_of(part, main_loader(part))


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
