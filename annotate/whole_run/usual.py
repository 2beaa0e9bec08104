"""The usual range of a loop's step time and data wait, and when they leave it.

Several DataLoader workers hand out their batches in turns, so that one step in so many waits for all of them: what is
usual, and what is slow, is the mean of a round of as many steps.

Robust: the range is about the median of the latest rounds, as wide as their median absolute deviation says. What is
outside of it is not taken for usual, until it has gone on for so long that it is: for twice the rounds that the range
is made of, so that an odd start soon counts for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf
from typing import Final, Literal, NamedTuple

_KEPT, _LEAST_KEPT = 200, 50
"""Steps that the range is made of, and rounds at least."""
_FEWEST, _LEAST_FEWEST = 50, 12
"""The same from which there is a range. After as many it is looked at again, or twice as many once it is made of all:
the two medians take some 20 us."""
_RECENT, _LEAST_RECENT = 20, 3
_SLOW_FROM, _SLOW_UNTIL = 0.7, 0.3
"""Of the latest steps, in rounds, the part that is above the range: from so many on the loop is slow, until so few."""
_NEW_USUAL: Final = 2
"""Slow rounds, for each that the range is made of, after which slow is what is usual."""
_SIGMA: Final = 1.4826
_SLOW_SIGMAS, _SLOW_SHARE, _SLOW_NS = 4, 0.5, 2_000_000
_ROUND: Final = 20
"""Steps of which the longest may be as long as ever, or as many as there are DataLoader workers."""
_ROUNDS, _FEWEST_ROUNDS = 15, 3
_STALL_TIMES, _STALL_NS = 3, 250_000_000

Change = Literal["stall", "slow", "usual"]
"""One step took very long; most of the latest rounds are above the range; they no longer are."""


class Range(NamedTuple):
    """Nanoseconds."""

    usual: float
    slow: float
    """Above it, a round is slow."""
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
        self._turns: Final = max(1, workers)
        """Steps of a round."""
        self._fewest: Final = max(_LEAST_FEWEST, -(-_FEWEST // self._turns))
        self._recent: Final = max(_LEAST_RECENT, -(-_RECENT // self._turns))
        self.latest = 0.0
        """Mean of the latest round."""
        self._begun: Final[list[int]] = []
        """Of the round that goes on."""
        self._values: Final[deque[float]] = deque(maxlen=max(_LEAST_KEPT, -(-_KEPT // self._turns)))
        self._above: Final[deque[bool]] = deque(maxlen=self._recent)
        self._count = 0
        """Of those, above the range."""
        self._since_look = 0
        self._slow_rounds = 0
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
        change: Change | None = None
        for mean in self._means((value,)):
            if known is None:
                self._learn(mean, scale)
                return None
            self._note(mean, known, scale)
            change = self._change()
        if known is None:
            return None
        self._look_for_calm()
        is_stall = self._is_stall(value, known)
        return "stall" if is_stall and change is None and not self.is_slow else change

    def _means(self, values: Sequence[int]) -> Sequence[float]:
        """Of the rounds that these steps end."""
        if self._turns == 1:
            return values
        begun = self._begun
        begun.extend(values)
        ended = len(begun) // self._turns * self._turns
        means = [sum(begun[at : at + self._turns]) / self._turns for at in range(0, ended, self._turns)]
        del begun[:ended]
        return means

    def _note(self, mean: float, known: Range, scale: float) -> None:
        self.latest = mean
        is_above = mean > known.slow
        self._count += is_above - (self._above[0] if len(self._above) == self._recent else False)
        self._above.append(is_above)
        if not self.is_slow and not is_above:
            self._learn(mean, scale)

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
        known = self.range
        if self._turns > 1 and known is not None:  # a round may be slow though no step of it is too long
            for mean in self._means(values):
                self._note(mean, known, scale)
            self._look_for_calm()
            return
        self._above.extend(repeat(False, len(values)))
        self._values.extend(values)
        self._since_look += len(values)
        self._look(scale)

    def _look_for_calm(self) -> None:
        known = self.range
        if known is None or self.is_slow or self._count:
            self.calm_until = -1
            return
        longest = self._rounds.usual_longest() if self._turns > 1 else 0.0
        self.calm_until = int(max(known.slow, longest if longest < inf else 0.0))

    def _change(self) -> Change | None:
        above = self._count
        if not self.is_slow and above >= _SLOW_FROM * self._recent:
            self.is_slow, self._slow_rounds = True, 0
            return "slow"
        if self.is_slow:
            self._slow_rounds += 1
            is_new_usual = self._slow_rounds >= _NEW_USUAL * len(self._values)
            if above <= _SLOW_UNTIL * self._recent or is_new_usual:
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

    def _learn(self, mean: float, scale: float) -> None:
        self._values.append(mean)
        self._since_look += 1
        self._look(scale)

    def _look(self, scale: float) -> None:
        count = len(self._values)
        is_full = count == self._values.maxlen
        if self._since_look >= (2 if is_full else 1) * self._fewest and count >= self._fewest:
            self._since_look = 0
            found = range_of(list(self._values), self._rounds.usual_longest(), scale)
            self.range = found._replace(steps=found.steps * self._turns)
            self._look_for_calm()


def range_of(values: list[float], longest: float, scale: float = 0.0) -> Range:
    """The usual range of the means of some rounds; `longest`: the longest step of a usual round."""
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
