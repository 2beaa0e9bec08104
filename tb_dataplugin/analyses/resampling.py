"""Means with their 95% interval, from resampling blocks of successive values (Kunsch's moving blocks, circular)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

RESAMPLES: Final = 400
"""Enough to know the ends of a 95% interval to a tenth of its width."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """With the ends of its 95% interval."""

    value: float
    low: float
    high: float


def blocks(random: np.random.Generator, count: int, period: int = 1) -> npt.NDArray[np.intp]:
    """Row numbers of each resample: circular blocks of successive rows, as long as a round of workers at least."""
    length = max(1, round(count ** (1 / 3)), min(period, count // 4))
    starts = random.integers(0, count, (RESAMPLES, -(-count // length)))
    rows: npt.NDArray[np.intp] = (starts[:, :, None] + np.arange(length)) % count
    return rows.reshape(RESAMPLES, -1)[:, :count]


def with_resamples(values: Floats, rows: npt.NDArray[np.intp]) -> Floats:
    """The mean, then those of the resamples, of times. Few values resampled vary too little; they are spread by what
    Student's t has over the normal distribution, to first order: by their ratio to the mean, since no time is below 0.
    """
    mean, freedom = values.mean(), max(1, len(values) - 1)
    spread = np.sqrt(1 + 1 / freedom) * (1 + 1.21 / freedom)
    ratios = values[rows].mean(axis=1) / mean if mean > 0 else np.ones(len(rows))
    return np.concatenate(([mean], mean * ratios**spread))


def interval(values: Floats) -> Estimate:
    low, high = np.percentile(values[1:], (2.5, 97.5)).tolist()
    value = float(values[0])
    return Estimate(value, min(low, value), max(high, value))


def thinned(values: Floats, most: int) -> Floats:
    """Means of successive stretches, where there are more values."""
    if len(values) <= most:
        return values
    edges = np.linspace(0, len(values), most + 1).astype(np.intp)
    means: Floats = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
    return means
