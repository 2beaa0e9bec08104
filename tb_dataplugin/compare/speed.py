"""How fast the machine was in each run, as the other stages show it, and what a stage's change is beside that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tb_dataplugin.compare import student
from tb_dataplugin.compare.noise import BELIEF, Change, Figure, Floats, estimated, mean_of, within_runs

LEAST_RUNS: Final = 3
"""On each side, from which their scatter shows how a stage follows the machine's speed."""

MOST_FOLLOWED: Final = 1.5
"""How much more a stage may follow it than the others do: those that move memory suffer most from neighbours."""

STEADY: Final = 0.01
"""Standard deviation (relative) of the speed of a machine on which runs have nothing to be corrected for."""

SPEEDLESS_LUCK: Final = 0.02
"""Standard deviation (relative) of a stage's CPU time over equal runs, less what the machine's speed explains."""

OTHER_MACHINE: Final = 0.005
"""Probability of a difference of speed between equal sides, below which it is none of the machine's. As small as that
from which a stage is named: speeds are far from normal, and a stage follows each difference that is let through."""


OF_NORMAL: Final = 1.4826
OF_MEDIAN: Final = 1.2533
"""Standard deviation over the median absolute deviation, and of a median over that of a mean, of normal numbers."""

CONTRADICTED: Final = 2.6
"""The same, as a variance: a scatter of so many times what is assumed comes in one of 20 cases with three runs a side,
so it is another stage's: the assumption then has no say, since it would lessen what was measured."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Per side, how much longer each run's other stages took, as logarithms. `noise`: the standard deviation of these
    figures over runs at equal speed, since the other stages have luck of their own."""

    before: Floats
    after: Floats
    noise: float

    @property
    def moved(self) -> float:
        return float(self.after.mean() - self.before.mean())

    @property
    def is_repeated(self) -> bool:
        return min(len(self.before), len(self.after)) >= LEAST_RUNS

    @property
    def within(self) -> Floats:
        """What runs of one side differ by."""
        return np.concatenate([self.before - self.before.mean(), self.after - self.after.mean()])

    @property
    def differs(self) -> bool:
        """By more than runs of one side do: another machine, or more than one stage changed."""
        if not self.is_repeated:
            return False
        repeated, within = len(self.before) + len(self.after) - 2, self.within
        error = math.sqrt(float(within @ within) / repeated * (1 / len(self.before) + 1 / len(self.after)))
        return abs(self.moved) > student.critical(OTHER_MACHINE, repeated) * error

    def moved_with(self, before: Sequence[Figure], after: Sequence[Figure]) -> float:
        """How far it may have moved the times of a stage that runs of one side show to follow it in part or not at all,
        as one that sleeps: a standard deviation. Infinite where runs do not show that.
        """
        if not self.is_repeated:
            return math.inf
        slope = _slope(before, after, self)
        return abs(self.moved) * math.hypot(slope.follows, math.sqrt(slope.scatter / slope.spread))


class _Slope(NamedTuple):
    """How much of the machine's speed a stage's time follows, by runs of one side. `scatter`: variance of the rest."""

    value: float
    scatter: float
    spread: float

    @property
    def follows(self) -> float:
        return min(MOST_FOLLOWED, max(0.0, self.value))


def speed_by(others: Floats, runs_before: int) -> Speed:
    """Args: others: logarithms of times, a row per run, those before first, a column per stage."""
    slower = np.median(others - others.mean(axis=0), axis=1)
    apart = others - slower[:, None]
    sides = apart[:runs_before], apart[runs_before:]
    rest = np.concatenate([side - side.mean(axis=0) for side in sides])
    deviation = OF_NORMAL * float(np.median(np.abs(rest))) * math.sqrt(len(rest) / max(1, len(rest) - 2))
    return Speed(slower[:runs_before], slower[runs_before:], OF_MEDIAN * deviation / math.sqrt(others.shape[1]))


def change_beside(
    before: Sequence[Figure], after: Sequence[Figure], speed: Speed, layout: float = 0.0
) -> Change | None:
    """The difference of the sides' means, less what the machine's speed explains: an analysis of covariance (R. A.
    Fisher, 1932).

    How much the figure follows the speed is taken from runs of one side, which differ in nothing else. None where that
    is unknown: too few runs, or sides whose speeds differ for another reason.
    """
    if not speed.is_repeated or speed.differs:
        return None
    repeated, per_run = len(before) + len(after) - 2, 1 / len(before) + 1 / len(after)
    slope, moved = _slope(before, after, speed), speed.moved
    scatter = slope.scatter
    assumed = SPEEDLESS_LUCK**2 + speed.noise**2 + within_runs(before, after)
    share = 1.0 if scatter > CONTRADICTED * assumed else repeated / (BELIEF + repeated)
    parts = [
        (share * scatter * (per_run + moved**2 / slope.spread), repeated - 1),
        ((1 - share) * assumed * per_run, BELIEF),
        (((slope.value - slope.follows) * moved) ** 2, 1),
        (2 * layout**2, BELIEF),
        (estimated(before, after), BELIEF),
    ]
    whole = sum(part for part, _ in parts)
    freedom = whole**2 / sum(part**2 / known for part, known in parts if part)
    return Change(mean_of(after) - mean_of(before) - slope.follows * moved, math.sqrt(whole), freedom)


def _slope(before: Sequence[Figure], after: Sequence[Figure], speed: Speed) -> _Slope:
    values = [np.array([figure.value for figure in side]) for side in (before, after)]
    y, x = np.concatenate([column - column.mean() for column in values]), speed.within
    repeated = len(y) - 2
    spread = float(x @ x) + STEADY**2 * repeated
    slope = _Slope(float(x @ y) / spread, 0.0, spread)
    rest = y - slope.follows * x
    return slope._replace(scatter=float(rest @ rest) / (repeated - 1))
