"""What each DataLoader worker needs for a batch, where they differ: they take turns, so that the slowest sets the pace.

Whether they differ is held against chance: were the same times dealt out among them anew, hardly ever would one of them
need so much. What batches usually take, and what exceptions take beyond that, are judged apart: one slow batch says
nothing of its worker, and is taken to come to any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.call_kinds import common_ns, slow_calls
from tb_dataplugin.analyses.resampling import Floats, thinned
from tb_dataplugin.analyses.workers import WorkerRow

DEALT: Final = 399
"""Times that they are dealt out anew."""

BY_CHANCE: Final = 0.01
"""Part of these that may come as far, for workers that differ."""

MOST_VALUES: Final = 200
"""More batches of a worker count as so many stretches of successive ones."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Of workers that differ by more than chance: by worker id, what each needs for a batch, on average (ns)."""

    build_ns: tuple[tuple[int, float], ...]

    @property
    def slowest(self) -> int:
        return max(self.build_ns, key=lambda one: one[1])[0]

    @property
    def slowest_ns(self) -> float:
        return max(time for _, time in self.build_ns)

    @property
    def mean_ns(self) -> float:
        return sum(time for _, time in self.build_ns) / len(self.build_ns)

    @property
    def slow(self) -> tuple[int, ...]:
        """Those that need more than the mean."""
        return tuple(worker for worker, time in self.build_ns if time > self.mean_ns)

    def mean_of(self, *, slow: bool) -> float:
        """What these need, or the others, on average (ns)."""
        times = [time for _, time in self.build_ns if (time > self.mean_ns) == slow]
        return sum(times) / len(times)


def find_pace(rows: Iterable[WorkerRow]) -> Pace | None:
    """Of one loader's workers, by the batches that they built in the window; None where they are alike."""
    built = [row for row in rows if len(row.build_ns)]
    means = means_apart([row.build_ns.astype(np.float64) for row in built])
    if means is None:
        return None
    return Pace(tuple((row.worker, time) for row, time in zip(built, means.tolist(), strict=True)))


def means_apart(groups: Sequence[Floats]) -> Floats | None:
    """The mean of each group, as far as groups differ by more than chance; None where they are alike.

    Args:
        groups: times; none is empty.
    """
    differ = differences(groups)
    return means_by(groups, differ) if any(differ) else None


def differences(groups: Sequence[Floats]) -> tuple[bool, bool]:
    """Whether groups differ by more than chance in what is usual, and in what exceptions take beyond that."""
    if len(groups) < 2:
        return False, False
    usual, beyond = _parts(groups)
    return not _is_chance(usual), not _is_chance(beyond)


def means_by(groups: Sequence[Floats], differ: tuple[bool, bool]) -> Floats:
    """The mean of each group, as far as they `differ` (`differences`), else of all groups."""
    found: Floats = sum((_means(each, apart) for each, apart in zip(_parts(groups), differ, strict=True)), np.zeros(1))
    return found


def _parts(groups: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    usual = _usual(groups)
    return usual, [each - most for each, most in zip(groups, usual, strict=True)]


def _usual(groups: Sequence[Floats]) -> list[Floats]:
    """With exceptions among all of them as long as the common one."""
    whole = np.concatenate(groups)
    rounded = np.rint(whole).astype(np.int64)
    common = common_ns(rounded)
    usual = np.where(slow_calls(rounded, common), np.minimum(whole, common), whole)
    return np.split(usual, np.cumsum([len(each) for each in groups])[:-1])


def _means(groups: Sequence[Floats], apart: bool) -> Floats:
    if apart:
        return np.array([each.mean() for each in groups])
    return np.full(len(groups), np.concatenate(groups).mean())


def _is_chance(groups: Sequence[Floats]) -> bool:
    """Whether the largest mean is no larger than chance makes it."""
    dealt = [thinned(each, MOST_VALUES) for each in groups]
    sizes, values = np.array([len(each) for each in dealt]), np.concatenate(dealt)
    if values.min() == values.max():
        return True
    first, random = np.cumsum(sizes) - sizes, np.random.default_rng(0)
    found = float((np.add.reduceat(values, first) / sizes).max()) * (1 - 1e-9)
    left = int(BY_CHANCE * (1 + DEALT)) - 1
    for _ in range(DEALT):
        left -= int((np.add.reduceat(random.permutation(values), first) / sizes).max() >= found)
        if left < 0:
            return True
    return False
