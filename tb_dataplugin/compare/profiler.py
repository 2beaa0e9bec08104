"""Stages that ran under torch's profiler on one side only: without DataLoader workers it records their operators, and
what that takes is no change of the program's.

Where both sides have as many operators recorded in a call, the profiler's weight cancels, and nothing is done. What one
side has more is taken off its times, with its error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.like_batches import Stages
from tb_dataplugin.compare.noise import Figure
from tb_dataplugin.compare.sides import Measure, Run, StageFigures, Unit, time_per_unit
from tb_dataplugin.report import report_pb2 as pb

UNCERTAIN: Final = 0.25
"""Standard error (relative) of what recording an operator takes: 2.0 to 3.1 times what the probe says, of which the
report has the least (docs/lines.md), and probes of one program differed by 1.7x."""

LEAST: Final = 0.05
"""Part of a stage's time, from which it is taken off: times of equal runs differ by as much."""

MOST: Final = 0.8
"""Part of a stage's time that is taken off at most."""


def without_profiler(sides: Sequence[Sequence[Stages]]) -> list[list[Stages]]:
    """The stages of each run, of both sides: before and after."""
    names = {name for side in sides for run in side for name in run}
    less = {name: _more_recorded(sides, name) for name in names}
    return [
        [{name: _less(one, less[name][place]) for name, one in run.items()} for run in side]
        for place, side in enumerate(sides)
    ]


def _more_recorded(sides: Sequence[Sequence[Stages]], name: str) -> tuple[float, float]:
    """How long (us) recording took that the other side does not have: 0 for that one, and where not all is known."""
    known = [[run[name] for run in side if name in run] for side in sides]
    everywhere = [one for side in known for one in side]
    operators = sum(one.operators or 0 for one in everywhere)
    if not all(known) or not operators or any(one.operators is None for one in everywhere):
        return 0.0, 0.0
    each_us = sum(one.profiler_us for one in everywhere) / operators
    many = [sum(map(_operators, side)) / len(side) for side in known]
    return max(0.0, many[0] - many[1]) * each_us, max(0.0, many[1] - many[0]) * each_us


def _operators(stage: StageFigures) -> float:
    """Of one of its times in `typical`."""
    return (stage.operators or 0) / max(1, stage.calls) / stage.samples


def _less(stage: StageFigures, us: float) -> StageFigures:
    longest = max((math.exp(one.value) for one in stage.typical.values()), default=0.0)
    if not us or us < LEAST * longest:
        return stage
    typical: dict[Measure, Figure] = {measure: _figure(one, us) for measure, one in stage.typical.items()}
    return replace(stage, typical=typical, less_us=us)


def _figure(figure: Figure, us: float) -> Figure:
    whole = math.exp(figure.value)
    taken = min(us, MOST * whole)
    return replace(figure, value=math.log(whole - taken), estimated=UNCERTAIN * taken / (whole - taken))


def recorded_on_one_side(before: Sequence[Run], after: Sequence[Run], unit: Unit) -> float:
    """How long it took to record operators of stages that one side has more of: a share of its time per unit."""
    stages = [stage for run in (*before, *after) for stage in _stages(run)]
    operators = sum(stage.operators for stage in stages)
    if not operators or not all(stage.HasField("operators") for stage in stages):
        return 0.0
    each_us = sum(stage.profiler_us for stage in stages) / operators
    sides = [[_per_unit(run, unit) for run in runs] for runs in (before, after)]
    means = [(statistics.fmean(many), statistics.fmean(us)) for many, us in (zip(*side, strict=True) for side in sides)]
    (fewer, _), (more, us) = sorted(means)
    return (more - fewer) * each_us / us if us else 0.0


def _per_unit(run: Run, unit: Unit) -> tuple[float, float]:
    """Operators recorded in stages, and the time (us)."""
    units, time = run.units(unit), time_per_unit(run, unit)
    return (sum(stage.operators for stage in _stages(run)) / units, time) if units and time else (0.0, 0.0)


def _stages(run: Run) -> list[pb.Stage]:
    return [stage for capture in run.captures for stage in capture.stages]
