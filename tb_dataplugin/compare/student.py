"""Student's t distribution, for any positive number of degrees of freedom: what of scipy is needed here."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

NORMAL: Final = 1000.0
"""Degrees of freedom from which the distribution is as good as normal."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def two_sided(t: float, freedom: float) -> float:
    """Probability of a value at least as far from 0 as `t`.

    With ``t = sqrt(freedom) tan(angle)`` the density is ``cos(angle) ** (freedom - 1)`` but for a constant; the tail
    goes to a right angle and is smooth there, so Gauss-Legendre is exact to 1e-9 where it matters.
    """
    freedom = min(freedom, NORMAL)
    angle = math.atan2(abs(t), math.sqrt(freedom))
    half = (math.pi / 2 - angle) / 2
    from_right_angle = half * (_NODES + 1)
    area = half * float(_WEIGHTS @ np.sin(from_right_angle) ** (freedom - 1))
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return min(1.0, 2 * constant * area)


def critical(probability: float, freedom: float) -> float:
    """The value that is reached on either side with `probability`."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > probability:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > probability else (low, middle)
    return high
