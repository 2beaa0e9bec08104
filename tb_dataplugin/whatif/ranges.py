"""Values with the ends of their 90% intervals; and a step with its data wait, whose ends belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.whatif.loop import Floats

ENDS: Final = (5, 95)
"""Percentiles."""


@dataclass(frozen=True, slots=True)
class Range:
    """A value, and the ends of its 90% interval."""

    value: float
    low: float
    high: float


def around(value: float, *ends: float) -> Range:
    return Range(value, min(value, *ends), max(value, *ends))


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and the share of it that is data wait. The rest of a step was measured: by what a step may be longer, or
    shorter, its data wait is.
    """

    us: Range
    wait_share: Range

    @staticmethod
    def of_draws(us: Floats, own_us: Floats, error: float) -> Step:
        """`us`: what steps take; `own_us`: the rest of them, without data wait; either by draw: the first is the value.
        `error`: half of the relative interval by which the model itself may be off.
        """
        drawn = slice(1, None) if len(us) > 1 else slice(None)
        step = Range(float(us[0]), *np.percentile(us[drawn], ENDS).tolist())
        step = around(step.value, step.low, step.high)
        step = Range(step.value, step.low * (1 - error), step.high * (1 + error))
        low, high = (
            np.percentile(_share(us[drawn] * by, own_us[drawn]), percent)
            for by, percent in zip((1 - error, 1 + error), ENDS, strict=True)
        )
        value = float(_share(us[:1], own_us[:1])[0])
        return Step(_no_less(step, float(own_us[0])), around(value, float(low), float(high)))

    def reaching(self, us: float, own_us: float, error: float = 0.0) -> Step:
        """With such a step in the interval, as far as the model may be off."""
        return self.from_to(us * (1 - error), us * (1 + error), own_us)

    def from_to(self, low_us: float, high_us: float, own_us: float) -> Step:
        """With both of them in the interval."""
        shares = _share(np.array([low_us, high_us]), np.array([own_us, own_us])).tolist()
        reached = [
            share
            for share, beyond in zip(shares, (low_us < self.us.low, high_us > self.us.high), strict=True)
            if beyond
        ]
        us = Range(self.us.value, min(self.us.low, low_us), max(self.us.high, high_us))
        share = self.wait_share
        return Step(us, around(share.value, share.low, share.high, *reached))


def _no_less(step: Range, own_us: float) -> Range:
    """Its low end aside, which the model may be off by."""
    return Range(max(step.value, own_us), step.low, max(step.high, own_us))


def _share(us: Floats, own_us: Floats) -> Floats:
    """Of steps, the data wait beside that."""
    share: Floats = np.maximum(0.0, 1 - own_us / np.maximum(us, 1e-3))
    return share
