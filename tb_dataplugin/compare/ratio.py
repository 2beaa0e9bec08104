"""The change of a part of the time, which may be nearly nothing on a side: the ratio of two means, without logarithms.

Fieller's interval (1954) of after/before holds however small either is, and is unbounded where before may
be nothing. It excludes 1 exactly where the difference is significant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.compare import student
from tb_dataplugin.compare.noise import BELIEF, LEAST_BLOCKS, SHOWN, TIME_LUCK, Floats, inflation, trusted
from tb_dataplugin.compare.quantity import Bounds

MOST_LUCK: Final = 0.5
"""Standard deviation of a part over equal runs, at most, relative to itself. Below, it is that of the whole time: a
loader that gets 3% slower makes the training thread wait that much longer, whatever it waited before."""


@dataclass(frozen=True, slots=True)
class PartFigure:
    """A part in one run and the whole time that it is of (us per unit); the variance of the part by its steps."""

    value: float
    whole: float
    variance: float | None
    freedom: float


@dataclass(frozen=True, slots=True)
class Mean:
    """Of one side: `terms` are the summands of its variance, each with its degrees of freedom. None: not known."""

    value: float
    terms: tuple[tuple[float, float], ...] | None

    @property
    def variance(self) -> float:
        return math.fsum(term for term, _ in self.terms or ())


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two means. Without known variances there are no bounds, and nothing is significant."""

    before: Mean
    after: Mean

    @property
    def change(self) -> float | None:
        return self.after.value / self.before.value - 1 if self.before.value else None

    @property
    def probability(self) -> float:
        """Of a difference like this, or larger, between equal sides."""
        difference, error = self.after.value - self.before.value, math.sqrt(self.before.variance + self.after.variance)
        if not self.is_known or not difference:
            return 1.0
        return student.two_sided(difference / error, self._freedom) if error else 0.0

    @property
    def bounds(self) -> Bounds | None:
        """Of the change, with 95% confidence."""
        if not self.is_known or not self.before.value:
            return None
        t2 = student.critical(SHOWN, self._freedom) ** 2
        a, b = self.after.value, self.before.value
        known, rest = b * b - t2 * self.before.variance, a * a - t2 * self.after.variance
        root = math.sqrt(max(0.0, a * a * b * b - known * rest))
        if known <= 0:
            low = (a * b - root) / known if known and rest > 0 else 0.0
            return Bounds(low - 1, math.inf)
        return Bounds(max(0.0, (a * b - root) / known) - 1, (a * b + root) / known - 1)

    @property
    def is_known(self) -> bool:
        return self.before.terms is not None and self.after.terms is not None

    @property
    def _freedom(self) -> float:
        """Satterthwaite's, of the variance of the difference."""
        terms = [(term, freedom) for side in (self.before, self.after) for term, freedom in side.terms or () if term]
        whole = math.fsum(term for term, _ in terms)
        return whole**2 / math.fsum(term**2 / freedom for term, freedom in terms) if whole else 1.0


def part_figure(value: float, whole: float, blocks: Floats) -> PartFigure:
    """`blocks`: the part in each period of steps, per unit; too few show nothing."""
    if len(blocks) < LEAST_BLOCKS:
        return PartFigure(value, whole, None, 1)
    variance = float(blocks.var(ddof=1)) / len(blocks) * inflation(blocks)
    return PartFigure(value, whole, variance, len(blocks) - 1)


def part_mean(runs: Sequence[PartFigure], shared: float) -> Mean:
    """One side. The more runs, the more their scatter replaces what is assumed of them."""
    count, repeated = len(runs), len(runs) - 1
    values = np.array([run.value for run in runs])
    mean = float(values.mean())
    if not repeated and runs[0].variance is None:
        return Mean(mean, None)
    most = MOST_LUCK * mean
    luck = min(most, TIME_LUCK * max(run.whole for run in runs)) ** 2
    waited = min(most, shared * max(run.whole for run in runs)) ** 2
    between = float(values.var(ddof=1)) if repeated else 0.0
    within = math.fsum(run.variance or 0.0 for run in runs) / count
    share = trusted(between, luck + within, repeated, BELIEF / 2)
    terms = [
        (share * between / count, float(max(1, repeated))),
        ((1 - share) * luck / count, float(BELIEF)),
        (waited / (count * count), float(BELIEF)),
        *(((1 - share) * (run.variance or 0.0) / count**2, run.freedom) for run in runs),
    ]
    return Mean(mean, tuple(terms))
