"""The usual range of a loop's step time and data wait, and when they leave it.

Robust: the range is about the median of the latest steps, as wide as their median absolute deviation says. What is
outside of it is not taken for usual, until it has gone on for so long that it is: for twice the steps that the range is
made of, so that an odd start soon counts for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf
from typing import Final, Literal, NamedTuple

KEPT: Final = 200
"""Steps that the range is made of."""
FEWEST: Final = 50
_EACH: Final = 50
"""Steps between two looks at the range, twice as many once it is made of `KEPT`: the two medians take some 20 us."""
_RECENT: Final = 20
_SLOW_FROM, _SLOW_UNTIL = 14, 6
"""Of `_RECENT` steps that are above the range: from so many on the loop is slow, until so few."""
_NEW_USUAL: Final = 2
"""Slow steps, for each that the range is made of, after which slow is what is usual."""
_SIGMA: Final = 1.4826
_SLOW_SIGMAS, _SLOW_SHARE, _SLOW_NS = 4, 0.5, 2_000_000
_ROUND: Final = 20
"""Steps of a round, or as many as there are DataLoader workers: those hand out their batches in turns, so that one step
in so many waits for all of them, and is as usual as the others."""
_ROUNDS, _FEWEST_ROUNDS = 15, 3
_STALL_TIMES, _STALL_NS = 3, 250_000_000

Change = Literal["stall", "slow", "usual"]
"""One step took very long; most of the latest steps are above the range; they no longer are."""


class Range(NamedTuple):
    """Nanoseconds."""

    usual: float
    slow: float
    """Above it, a step is slow."""
    stall: float
    """Above it, one step is an event of its own; infinite while too few rounds are known."""
    steps: int
    """That it is made of."""


class Rounds:
    """The longest step of each of the latest rounds, whatever their steps were."""

    def __init__(self, steps: int) -> None:
        self.steps: Final = steps
        self._longest: Final[deque[int]] = deque(maxlen=_ROUNDS)
        self._latest = self._count = 0
        """Of the round that goes on."""

    def add(self, values: Sequence[int]) -> None:
        first = 0
        while first < len(values):
            part = values[first : first + self.steps - self._count]
            first += len(part)
            self._latest = max(self._latest, max(part))
            self._count += len(part)
            if self._count >= self.steps:
                self._longest.append(self._latest)
                self._latest = self._count = 0

    def usual_longest(self) -> float:
        """Of a usual round: their median, which no rare stall moves. Infinite while too few are known."""
        return _median(self._longest) if len(self._longest) >= _FEWEST_ROUNDS else inf

    def clear(self) -> None:
        self._longest.clear()
        self._latest = self._count = 0


class Usual:
    """Of one quantity."""

    def __init__(self, workers: int = 0) -> None:
        self.range: Range | None = None
        """None: not known yet."""
        self.calm_until = -1
        """Values up to this are usual, and nothing else was of late: they may be told together, by `add_calm`."""
        self.is_slow = False
        self._values: Final[deque[int]] = deque(maxlen=KEPT)
        self._above: Final[deque[bool]] = deque(maxlen=_RECENT)
        self._count = 0
        """Of those, above the range."""
        self._since_look = 0
        self._slow_steps = 0
        self._rounds: Final = Rounds(max(_ROUND, workers))
        self._quiet = self._rounds.steps
        """Steps since one was as long as a stall: one event for a round of them."""

    def add(self, value: int, scale: float = 0.0) -> Change | None:
        """A step has ended.

        Args:
            value: nanoseconds.
            scale: what a change is measured by besides the value's own median: a data wait, by the step time.
        """
        known = self.range
        self._rounds.add((value,))
        if known is None:
            self._learn(value, scale)
            return None
        is_above = value > known.slow
        self._count += is_above - (self._above[0] if len(self._above) == _RECENT else False)
        self._above.append(is_above)
        if not self.is_slow and not is_above:
            self._learn(value, scale)
        change = self._change()
        self._look_for_calm()
        is_stall = self._is_stall(value, known)
        return "stall" if is_stall and change is None and not self.is_slow else change

    def _is_stall(self, value: int, known: Range) -> bool:
        """Whether a stall begins here: a whole round must have passed since the last that was as long."""
        quiet, self._quiet = self._quiet, self._quiet + 1
        if value <= known.stall:
            return False
        self._quiet = 0
        return quiet >= self._rounds.steps

    def add_calm(self, values: Sequence[int], scale: float = 0.0) -> None:
        """As `add` for each of some values, none of which is above `calm_until`."""
        self._rounds.add(values)
        self._quiet += len(values)
        self._above.extend(repeat(False, len(values)))
        self._values.extend(values)
        self._since_look += len(values)
        self._look(scale)

    def _look_for_calm(self) -> None:
        known = self.range
        self.calm_until = -1 if known is None or self.is_slow or self._count else int(known.slow)

    def _change(self) -> Change | None:
        above = self._count
        if not self.is_slow and above >= _SLOW_FROM:
            self.is_slow, self._slow_steps = True, 0
            return "slow"
        if self.is_slow:
            self._slow_steps += 1
            is_new_usual = self._slow_steps >= _NEW_USUAL * len(self._values)
            if above <= _SLOW_UNTIL or is_new_usual:
                self._begin_again(is_new_usual)
                return "usual"
        return None

    def _begin_again(self, forgets: bool) -> None:
        self.is_slow = False
        self._above.clear()
        self._count = 0
        if forgets:
            self._values.clear()
            self._rounds.clear()
            self.range = None

    def _learn(self, value: int, scale: float) -> None:
        self._values.append(value)
        self._since_look += 1
        self._look(scale)

    def _look(self, scale: float) -> None:
        count = len(self._values)
        if self._since_look >= (_EACH if count < KEPT else 2 * _EACH) and count >= FEWEST:
            self._since_look = 0
            self.range = range_of(list(self._values), self._rounds.usual_longest(), scale)
            self._look_for_calm()


def range_of(values: list[int], longest: float, scale: float = 0.0) -> Range:
    """The usual range of some values, see `Usual.add`; `longest`: the longest value of a usual round."""
    middle = _median(values)
    sigma = _SIGMA * _median([abs(value - middle) for value in values])
    by = max(middle, scale)
    slow = middle + max(_SLOW_SIGMAS * sigma, _SLOW_SHARE * by, _SLOW_NS)
    stall = max(slow, middle + _STALL_NS, _STALL_TIMES * max(longest, scale))
    return Range(middle, slow, stall, len(values))


def _median(values: Iterable[float]) -> float:
    """As ``statistics.median``, which looks at the type of each value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
