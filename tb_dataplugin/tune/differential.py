"""What each part of loading adds to a step, by leaving parts out for real: batches from memory, files in the page
cache, files that have to be read from storage. One capture cannot tell a stage's reading from its computing; this can.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple, Protocol

from tb_dataplugin.compare import student
from tb_dataplugin.tune.running import CannotRun, Window
from tb_dataplugin.units import duration, plural

MISSED: Final = 0.05
"""What intervals miss."""

LEAST: Final = 2
"""Rounds that an interval takes."""


class Loops(Protocol):
    """The user's loop, which can be run with parts left out; see `server.Server`."""

    def same(self, count: int = 0) -> Window: ...

    def loaderless(self, count: int) -> Window: ...


class Round(NamedTuple):
    """Seconds per step. `cold`: 0 where files are not put out of the page cache."""

    cold: float
    warm: float
    memory: float


class Range(NamedTuple):
    """A mean over rounds, and the ends of its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def is_more(self) -> bool:
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Differential:
    """Seconds per step, round by round. `cold`: empty where files were not put out of the page cache."""

    memory: tuple[float, ...]
    warm: tuple[float, ...]
    cold: tuple[float, ...]
    asked: int = 0
    """Rounds; more than there are where it was interrupted."""

    @property
    def is_interrupted(self) -> bool:
        return len(self.memory) < self.asked

    @property
    def loading_s(self) -> Range:
        """What loading adds with all files in the page cache: decoding, transforms, collating, sending."""
        return between(self.memory, self.warm)

    @property
    def reading_s(self) -> Range | None:
        """What reading from storage adds to that."""
        return between(self.warm, self.cold) if self.cold else None


def between(before: Sequence[float], after: Sequence[float]) -> Range:
    """How much more the second takes, round by round."""
    return mean_of([more - less for less, more in zip(before, after, strict=True)])


def mean_of(values: Sequence[float]) -> Range:
    mean = statistics.fmean(values)
    reach = student.critical(MISSED, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Range(mean, mean - reach, mean + reach)


def measure(loops: Loops, rounds: int, empty: Callable[[], object] | None, say: Callable[[str], None]) -> Differential:
    """Of those rounds that ended, where Ctrl-C comes. Raises CannotRun, also where these are fewer than two.

    Args:
        rounds: at least two.
        empty: puts the files out of the page cache; None: leave that part out.
    """
    found: list[Round] = []
    try:
        count = loops.same().batches  # the first window also imports, and starts caches
        began = monotonic()
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}{_left(monotonic() - began, number, rounds)}")
            found.append(_round(loops, count, empty))
    except KeyboardInterrupt:
        if len(found) < LEAST:
            raise CannotRun(f"interrupted after {plural(len(found), 'round')}; an interval takes {LEAST}") from None
    cold = () if empty is None else tuple(each.cold for each in found)
    return Differential(tuple(each.memory for each in found), tuple(each.warm for each in found), cold, rounds)


def _left(passed_s: float, ended: int, rounds: int) -> str:
    """How long the rounds that are left take, by those that ended."""
    if not ended:
        return ""
    return f", about {duration(1e6 * passed_s / ended * (rounds - ended))} left"


def _round(loops: Loops, count: int, empty: Callable[[], object] | None) -> Round:
    """
    Args:
        count: batches of each window, where no cold one tells how many there is time for.
    """
    cold = 0.0
    if empty is not None:
        empty()
        first = loops.same()
        cold, count = first.step_s, first.batches
    return Round(cold, loops.same(count).step_s, loops.loaderless(count).step_s)
