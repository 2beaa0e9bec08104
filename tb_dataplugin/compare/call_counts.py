"""Stages that one side calls more often than the other: what their calls take on average may be of different calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.quantity import UNTOLD, Quantity, StageCalls

MOVED: Final = 0.25
"""Change of a stage's calls per unit from which it is said: a window's edges cut off less."""

SURE: Final = 2.0
"""Standard errors that it must be: else one sample with many calls, by chance in one of the windows, makes it."""


def samples_built(stages: Sequence[Quantity]) -> tuple[float, float] | None:
    """Per unit, in the windows of each side; None where samples are no stage."""
    calls = [stage.calls for stage in stages if stage.calls and stage.name.startswith("sample::")]
    before, after = sum(each.before or 0.0 for each in calls), sum(each.after or 0.0 for each in calls)
    return (before, after) if before and after else None


def moved_calls(stages: Sequence[Quantity]) -> Mapping[str, tuple[float, float]]:
    """By stage, its calls before and after, where they differ for sure. Where samples have stages, of these alone, per
    sample that was built in the windows: the loop takes others, too, that were built before.
    """
    built, moved = samples_built(stages), {}
    for stage in stages:
        calls = stage.calls
        if calls is None or calls.before is None or calls.after is None or (built and not calls.in_sample):
            continue
        was, now = (calls.before / built[0], calls.after / built[1]) if built else (calls.before, calls.after)
        if abs(now - was) >= MOVED * was and _is_sure(calls, was, now):
            moved[stage.name] = was, now
    return moved


def _is_sure(calls: StageCalls, was: float, now: float) -> bool:
    """None at all on one side (only another DataLoader has it there): where the other has more than a few."""
    if not was or not now:
        return max(was, now) > 0 and SURE * calls.error < 1
    return abs(math.log(now / was)) >= SURE * calls.error


def with_other_calls(stages: Sequence[Quantity]) -> list[Quantity]:
    """The same stages, in order; behind the interval stands where the calls may be different ones."""
    moved = moved_calls(stages)
    return [_said(stage, *moved[stage.name]) if stage.name in moved else stage for stage in stages]


def _said(stage: Quantity, was: float, now: float) -> Quantity:
    if stage.change is None or stage.outcome in UNTOLD:
        return stage
    often = "less" if now < was else "more"
    return replace(
        stage, interval_text=f"{stage.interval_text}; called {often} often after: these may be different calls"
    )
