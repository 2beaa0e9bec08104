"""The usual range of a loop's step time and data wait, and when they leave it.

Robust: the range is about the median of the latest steps, as wide as their median absolute deviation says. What is
outside of it is not taken for usual, until it has gone on for so long that it is: for twice the steps that the range is
made of, so that an odd start soon counts for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, Literal, NamedTuple

_KEPT, _FEWEST = 200, 50
"""Steps that the range is made of, at most and at least."""
_KEPT_TURNS, _FEWEST_TURNS = 25, 10
"""The same in turns, where those are long."""
_TURN: Final = 2
"""Steps of a turn, or as many as there are DataLoader workers: one step in so many waits for all of them, and slow data
makes that one longer and leaves the others as they were. So what is usual or slow is a turn, by its mean step."""
_RECENT: Final = 10
_SLOW_FROM, _SLOW_UNTIL = 7, 3
"""Of `_RECENT` turns that are above the range: from so many on the loop is slow, until so few."""
_NEW_USUAL: Final = 2
"""Slow turns, for each that the range is made of, after which slow is what is usual."""
_SIGMA: Final = 1.4826
_SLOW_SIGMAS, _SLOW_SHARE, _SLOW_NS = 4, 0.5, 2_000_000
_ROUND: Final = 20
"""Steps of a round, or as many as there are DataLoader workers: the longest of a turn is as usual as the others."""
_ROUNDS, _FEWEST_ROUNDS = 15, 3
_STALL_TIMES, _STALL_NS = 3, 250_000_000
_TOGETHER: Final = 3
"""Stalls of about the same length, at most, with less than a round from each to the next: more of them are a loop that
is like that for a while, and would fill the run's file."""
_LONGER: Final = 1.5
"""Times the longest of those, from which a step is another one: no longer step goes untold."""

_MOST_EARLY: Final = 0.5
"""Of a round of the first steps: where more of them are as long as a stall, it is a slow start, and no stall."""

Change = Literal["stall", "slow", "usual"]
"""One step took very long; most of the latest turns are above the range; they no longer are."""


class Range(NamedTuple):
    """Nanoseconds."""

    usual: float
    slow: float
    """Above it, a turn is slow."""
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

    def longest_so_far(self) -> float:
        """As `usual_longest`, with the round that goes on for one."""
        longest = [*self._longest, *([self._latest] if self._count else ())]
        return _median(longest) if len(longest) >= _FEWEST_ROUNDS else inf

    def clear(self) -> None:
        self._longest.clear()
        self._latest = self._count = 0


class Burst:
    """Steps as long as a stall, with less than a round from each to the next: which of them are stalls of their own."""

    def __init__(self, turn: int, round_steps: int) -> None:
        self._turn: Final = turn
        self._round: Final = round_steps
        self._since = self._time = 0
        """Steps after the latest that was so long, and what they took."""
        self._told = self._longest = 0
        """Stalls, and the longest of them."""

    def pass_by(self, steps: int, time: int) -> None:
        """Steps that are not so long."""
        self._since += steps
        self._time += time

    def is_stall(self, value: int, known: Range, least: float) -> bool:
        """Of a step: the first long one is, one after a turn of usual steps, and one that is much longer than those.

        What follows at once is the same stall: DataLoader workers whose storage hangs all come late, and a slow time
        begins with many long steps.

        Args:
            least: nanoseconds that it has to exceed as well.
        """
        if value <= known.stall:
            self.pass_by(1, value)
            return False
        since, time, self._since, self._time = self._since, self._time, 0, 0
        if since >= self._round:
            self._told = self._longest = 0
        was_usual = since >= self._turn and time <= since * known.slow
        is_own = value > _LONGER * self._longest or (was_usual and self._told < _TOGETHER)
        if not is_own or value <= least:
            return False
        self._told += 1
        self._longest = max(self._longest, value)
        return True


class Turns:
    """Steps as they come, to means of `steps` of them."""

    def __init__(self, steps: int) -> None:
        self.steps: Final = steps
        self.longest = self._sum = self._count = 0
        """Of the turn that goes on."""

    def add(self, value: int) -> float | None:
        """The mean of the turn that ends with this step."""
        self.longest = max(self.longest, value)
        self._sum += value
        self._count += 1
        if self._count < self.steps:
            return None
        mean = self._sum / self.steps
        self.longest = self._sum = self._count = 0
        return mean


class SlowTime:
    """The turns since the loop has become slow."""

    def __init__(self, turns: Iterable[float] = ()) -> None:
        """`turns`: those that made it so."""
        known = list(turns)
        self.turns = 0
        """After those."""
        self._sum, self._count = sum(known), len(known)

    def add(self, turn: float) -> None:
        self.turns += 1
        self._sum += turn
        self._count += 1

    @property
    def mean(self) -> float:
        """Of a step."""
        return self._sum / self._count if self._count else 0.0


class Usual:
    """Of one quantity."""

    def __init__(self, workers: int = 0) -> None:
        self.range: Range | None = None
        """None: not known yet."""
        self.calm_until = -1
        """Values up to this are usual, and nothing else was of late: they may be told together, by `add_calm`."""
        self.is_slow = False
        self.slow = SlowTime()
        """The one that goes on, or the latest."""
        self._turns: Final = Turns(max(_TURN, workers))
        self._is_of_workers: Final = workers > 1
        self._values: Final[deque[float]] = deque(maxlen=self._in_turns(_KEPT, _KEPT_TURNS))
        self._recent: Final[deque[float]] = deque(maxlen=_RECENT)
        """Of the latest turns: those above the range; 0 for any other."""
        self._since_look = 0
        self._rounds: Final = Rounds(max(_ROUND, workers))
        self._burst: Final = Burst(self._turns.steps, self._rounds.steps)

    @property
    def round_steps(self) -> int:
        return self._rounds.steps

    def add(self, value: int, scale: float = 0.0) -> Change | None:
        """A step has ended.

        Args:
            value: nanoseconds.
            scale: what a change is measured by besides the value's own median: a data wait, by the step time.
        """
        known = self.range
        self._rounds.add((value,))
        turn = self._turns.add(value)
        if known is None:
            if turn is not None:
                self._learn(turn, scale)
            return None
        change = None
        if turn is not None:
            self._note(turn, known, scale)
            change = self._change(turn)
        self._look_for_calm()
        least = _STALL_TIMES * self.slow.mean if self.is_slow else 0.0
        is_stall = self._burst.is_stall(value, known, least if change is None else inf)
        return "stall" if is_stall else change

    def stalls_among(self, values: Sequence[int]) -> list[bool]:
        """Which of the first steps were stalls, by what is usual now."""
        known, burst = self.range, Burst(self._turns.steps, self._rounds.steps)
        if known is None:
            return [False] * len(values)
        is_long = [value > known.stall for value in values]
        rounds = (is_long[place : place + self._rounds.steps] for place in range(len(values)))
        return [
            burst.is_stall(value, known, 0.0) and sum(its_round) <= _MOST_EARLY * self._rounds.steps
            for value, its_round in zip(values, rounds, strict=True)
        ]

    def look_again(self, scale: float = 0.0) -> None:
        """What is usual by all that there is, if that is not too little; few steps may be all that there will be."""
        longest, steps = self._rounds.longest_so_far(), len(self._values) * self._turns.steps
        if steps >= _FEWEST and longest < inf:
            self.range = range_of(list(self._values), longest, scale)._replace(steps=steps)

    def _note(self, turn: float, known: Range, scale: float) -> None:
        """A turn has ended."""
        is_above = turn > known.slow
        self._recent.append(turn if is_above else 0.0)
        if not self.is_slow and not is_above:
            self._learn(turn, scale)

    def _change(self, turn: float) -> Change | None:
        above = sum(map(bool, self._recent))
        if self.is_slow:
            self.slow.add(turn)
            is_new_usual = self.slow.turns >= _NEW_USUAL * len(self._values)
            if above <= _SLOW_UNTIL or is_new_usual:
                self._begin_again(is_new_usual)
                return "usual"
        elif above >= _SLOW_FROM:
            self.is_slow, self.slow = True, SlowTime(filter(None, self._recent))
            return "slow"
        return None

    def add_calm(self, values: Sequence[int], scale: float = 0.0) -> None:
        """As `add` for each of some values, none of which is above `calm_until`."""
        self._rounds.add(values)
        self._burst.pass_by(len(values), sum(values))
        for value in values:
            turn = self._turns.add(value)
            if turn is not None and self.range is not None:
                self._note(turn, self.range, scale)
        self._look_for_calm()

    def _look_for_calm(self) -> None:
        """The longest step of a usual turn is calm; a turn of several such steps is slow, which the next step says."""
        known = self.range
        if known is None or self.is_slow or any(self._recent) or self._turns.longest > self._calm_most(known):
            self.calm_until = -1
        else:
            self.calm_until = self._calm_most(known)

    def _calm_most(self, known: Range) -> int:
        longest = self._rounds.usual_longest() if self._is_of_workers else inf
        return int(known.slow if longest == inf else max(known.slow, longest))

    def _begin_again(self, forgets: bool) -> None:
        self.is_slow = False
        self._recent.clear()
        if forgets:
            self._values.clear()
            self._rounds.clear()
            self.range = None

    def _learn(self, turn: float, scale: float) -> None:
        self._values.append(turn)
        self._since_look += 1
        self._look(scale)

    def _look(self, scale: float) -> None:
        """Two medians take some 20 us: after 50 steps, as soon as a stall can be told, and after each 50 more, or 100
        once the range is made of all that is kept.
        """
        count, fewest = len(self._values), self._in_turns(_FEWEST, _FEWEST_TURNS)
        is_full = count == self._values.maxlen
        is_due = self._since_look >= (2 * fewest if is_full else fewest) and count >= fewest
        if is_due or (self.range is not None and self.range.stall == inf and self._rounds.usual_longest() < inf):
            self._since_look = 0
            found = range_of(list(self._values), self._rounds.usual_longest(), scale)
            self.range = found._replace(steps=count * self._turns.steps)
            self._look_for_calm()

    def _in_turns(self, steps: int, fewest: int) -> int:
        return max(fewest, steps // self._turns.steps)


def range_of(values: Sequence[float], longest: float, scale: float = 0.0) -> Range:
    """The usual range of some turns, see `Usual.add`; `longest`: the longest step of a usual round."""
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
