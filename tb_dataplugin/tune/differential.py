"""What each part of loading adds to a step, by leaving parts out for real: batches from memory, files in the page
cache, files that have to be read from storage. One capture cannot tell a stage's reading from its computing; this can.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from tb_dataplugin.compare import student
from tb_dataplugin.tune.running import Window

MISSED: Final = 0.05
"""What intervals miss."""


class Loops(Protocol):
    """The user's loop, which can be run with parts left out; see `server.Server`."""

    def same(self, count: int = 0) -> Window: ...

    def loaderless(self, count: int) -> Window: ...


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
    """Raises CannotRun.

    Args:
        rounds: at least two.
        empty: puts the files out of the page cache; None: leave that part out.
    """
    memory, warm, cold = [], [], []
    count = loops.same().batches  # the first window also imports, and starts caches
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        if empty is not None:
            empty()
            first = loops.same()
            cold.append(first.step_s)
            count = first.batches
        warm.append(loops.same(count).step_s)
        memory.append(loops.loaderless(count).step_s)
    return Differential(tuple(memory), tuple(warm), tuple(cold))
