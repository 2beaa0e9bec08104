"""The time per sample or step of both sides: what a run is faster or slower by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.noise import SHOWN, TIME_LUCK, change
from tb_dataplugin.compare.quantity import Quantity, judge_change, said_limit
from tb_dataplugin.compare.sides import Run, Unit, time_figure, time_per_unit

ALARM: Final = SHOWN
"""Probability of "faster" or "slower" between equal sides: that of the interval, so that the two never disagree."""


def compare_time(
    before: Sequence[Run],
    after: Sequence[Run],
    unit: Unit,
    shared: float,
    recorded: float = 0.0,
    within_epoch: bool = False,
) -> Quantity | None:
    """None where a run has neither samples nor steps. `recorded`: the share of torch's profiler on one side only.
    `within_epoch`: without starts of epochs that are a considerable part of it.
    """
    sides = [[time_figure(run, unit) for run in runs] for runs in (before, after)]
    known = [[figure for figure in side if figure is not None] for side in sides]
    if any(len(figures) < len(side) for figures, side in zip(known, sides, strict=True)):
        return None
    means = [[time_per_unit(run, unit) or 0.0 for run in runs] for runs in (before, after)]
    before_us, after_us = (sum(side) / len(side) for side in means)
    found = change(known[0], known[1], TIME_LUCK, shared, drift=recorded)
    if before_us and after_us:  # of the means beside it, which the parts add up to
        found = replace(found, value=math.log(after_us / before_us))
    same = found.value == 0 and before_us == after_us
    judged = judge_change("time", found.value, found.bounds, found.probability <= ALARM, same)
    return Quantity(
        kind="time",
        name="time",
        title=f"time per {unit}{' within an epoch' if within_epoch else ''}",
        before_us=before_us,
        after_us=after_us,
        change=found.relative,
        interval=judged.interval,
        interval_text=judged.text,
        outcome=judged.outcome,
        detectable=None if judged.outcome in ("identical", "too_short") else said_limit(found.reach(ALARM)),
    )
