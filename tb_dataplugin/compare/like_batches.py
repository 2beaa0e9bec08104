"""Stages that run once for each batch, where the batches of both sides differ in size: their times are per sample then.

A batch of four times as many samples takes its collate four times as long, which is no slowdown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tb_dataplugin.compare.sides import Run, StageFigures, Unit, stages_of

Stages = dict[str, StageFigures]

ONCE: Final = math.log(1.5)
"""How far calls may be from one for each batch, as a logarithm: a window's edges cut off some."""


def of_like_batches(before: Sequence[Run], after: Sequence[Run], unit: Unit) -> list[list[Stages]]:
    """The stages of each run, of both sides."""
    sides = [[stages_of(run) for run in runs] for runs in (before, after)]
    settings = [_batch_size(runs) for runs in (before, after)]
    if unit != "sample" or None in settings or settings[0] == settings[1]:
        return sides
    sizes = [_mean_size(runs) or size for runs, size in zip((before, after), settings, strict=True)]
    runs_of = list(zip((before, after), sides, sizes, strict=True))
    names = {name for side in sides for run in side for name in run}
    once = {name for name in names if all(_runs_once(name, *of_side) for of_side in runs_of)}
    return [
        [{name: one.per_sample(size) if size and name in once else one for name, one in run.items()} for run in side]
        for side, size in zip(sides, sizes, strict=True)
    ]


def _batch_size(runs: Sequence[Run]) -> int | None:
    """None where it is not known, or not one."""
    sizes = {capture.loader.batch_size for run in runs for capture in run.captures}
    return sizes.pop() if len(sizes) == 1 and 0 not in sizes else None


def _mean_size(runs: Sequence[Run]) -> float | None:
    """With the smaller last batches of epochs; None where it is not known."""
    rates = [capture.throughput for run in runs for capture in run.captures]
    if not rates or not all(each.samples_per_batch for each in rates):
        return None
    return sum(each.samples for each in rates) / sum(each.samples / each.samples_per_batch for each in rates)


def _runs_once(name: str, runs: Sequence[Run], stages: Sequence[Stages], size: float | None) -> bool:
    """For each batch, in all runs that have it."""
    samples = sum(run.units("sample") or 0.0 for run, own in zip(runs, stages, strict=True) if name in own)
    known = [own[name] for own in stages if name in own]
    calls = sum(figures.calls for figures in known)
    if not known or not samples or not calls or not size or any(figures.in_sample for figures in known):
        return False
    return abs(math.log(calls * size / samples)) < ONCE
