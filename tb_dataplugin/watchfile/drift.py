"""Step time that rises or falls over the life of a process: each interval may be usual beside the one before.

What decides is the order of the parts of its life (Mann and Kendall): so often as chance would do it once in a hundred
runs that do not change, later parts have to be above earlier ones. Scatter, and single long intervals, take from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial
from statistics import median
from typing import Final, TypeVar

from tb_dataplugin.watchfile.loaders import Interval, main_intervals, main_numbers, num_workers
from tb_dataplugin.watchfile.reading import Part
from tb_dataplugin.watchfile.takers import DATA_WAIT, wait_name, whose_of

Value = TypeVar("Value")

QUARTERS: Final = 4
_MOST_PARTS: Final = 12
"""What lasts for some intervals, such as another program's load, is in few of so many parts."""
_CHANCE: Final = 0.01
_SHARE: Final = 0.1
"""Of the step time in the first quarter: a smaller change is not named."""
_STEADY: Final = 0.25
"""Change from quarter to quarter, at least this part of the mean one: a jump is a slow time, and no drift."""
_EXPLAINS: Final = 0.5
"""Of the change, from which a stage is named beside it."""


@dataclass(frozen=True, slots=True)
class StageDrift:
    """Self time per batch (us), medians of the first and the last quarter."""

    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Drift:
    """Microseconds per step, medians of the first and the last quarter of a process's intervals."""

    before: float
    after: float
    wait_before: float
    wait_after: float
    stage: StageDrift | None
    wait_name: str = DATA_WAIT

    @property
    def rises(self) -> bool:
        return self.after > self.before


def find_drift(part: Part) -> Drift | None:
    """None where its step time neither rises nor falls from quarter to quarter."""
    intervals = main_intervals(part)
    steps = [interval.step_us for interval in intervals]
    if not has_trend(steps):
        return None
    medians = [median(quarter) for quarter in split(steps, QUARTERS)]
    before, after = medians[0], medians[-1]
    each = (after - before) / (QUARTERS - 1)
    is_steady = all((later - was) / each >= _STEADY for was, later in pairwise(medians)) if each else False
    if abs(after - before) < _SHARE * before or not is_steady:
        return None
    waits = split([interval.wait_us for interval in intervals], QUARTERS)
    stage = _stage(intervals, (after - before) * max(1, num_workers(part)))
    return Drift(before, after, median(waits[0]), median(waits[-1]), stage, wait_name(whose_of(main_numbers(part))))


def _stage(intervals: Sequence[Interval], change: float) -> StageDrift | None:
    """The one whose time changes most as the step's does, where that explains most of it. `change`: of the time of all
    that build batches, per batch.
    """
    found = []
    for name in sorted({name for interval in intervals for name in interval.numbers.stage_us}):
        times = [time for interval in intervals if (time := interval.stage_us(name)) is not None]
        if has_trend(times):
            quarters = split(times, QUARTERS)
            found.append(StageDrift(name, median(quarters[0]), median(quarters[-1])))
    most = max(found, key=lambda stage: (stage.after - stage.before) / change, default=None)
    return most if most is not None and (most.after - most.before) / change >= _EXPLAINS else None


def has_trend(values: Sequence[float]) -> bool:
    """Whether their order in time is none of chance."""
    parts = [median(part) for part in split(values, min(_MOST_PARTS, len(values)))]
    ups = sum(later > earlier for earlier, later in combinations(parts, 2))
    downs = sum(later < earlier for earlier, later in combinations(parts, 2))
    return _chance_of(len(parts), min(ups, downs)) <= _CHANCE


def _chance_of(count: int, inversions: int) -> float:
    """Of so many values in a random order, that at most so many pairs are not in order, or that many are."""
    orders = [1]
    for number in range(2, count + 1):
        longer = [0] * (len(orders) + number - 1)
        for place, known in enumerate(orders):
            for more in range(number):
                longer[place + more] += known
        orders = longer
    return min(1.0, 2 * sum(orders[: inversions + 1]) / factorial(count))


def split(values: Sequence[Value], parts: int) -> list[Sequence[Value]]:
    """Into so many successive parts that are as long as each other."""
    edges = [round(len(values) * part / parts) for part in range(parts + 1)] if parts else []
    return [values[begin:end] for begin, end in pairwise(edges)]
