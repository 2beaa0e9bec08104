"""Stages of which more was recorded on one side: operators, by torch's profiler, without DataLoader workers only, and
spans of calls that the other side does not make. What recording them takes is no change of the program's.

Where both sides have as many recorded in a call, it cancels, and nothing is done. What one side has more is taken off
its times, with its error.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.built import units_of
from tb_dataplugin.compare.like_batches import Stages
from tb_dataplugin.compare.noise import Figure
from tb_dataplugin.compare.sides import (
    RECORDED,
    Measure,
    Recorded,
    Run,
    StageFigures,
    Unit,
    What,
    recorded_in,
    time_per_unit,
)
from tb_dataplugin.report import report_pb2 as pb

UNCERTAIN: Final = 0.25
"""Standard error (relative) of what recording one takes: of operators 1.2 to 3.1 times what the probe says, of
which the report has 2.0, of reads 1.6 to 4.0, of which it has 2.0 (docs/lines.md)."""

LEAST: Final = 0.05
"""Part of a stage's time, from which it is taken off: times of equal runs differ by as much."""

MOST: Final = 0.8
"""Part of a stage's time that is taken off at most."""


def without_recording(sides: Sequence[Sequence[Stages]]) -> list[list[Stages]]:
    """The stages of each run, of both sides: before and after."""
    names = {name for side in sides for run in side for name in run}
    less = {name: _more_recorded(sides, name) for name in names}
    return [
        [{name: _less(one, less[name][place]) for name, one in run.items()} for run in side]
        for place, side in enumerate(sides)
    ]


def _more_recorded(sides: Sequence[Sequence[Stages]], name: str) -> tuple[float, float]:
    """How long (us) recording took that the other side does not have: 0 where not all is known."""
    known = [[run[name] for run in side if name in run] for side in sides]
    if not all(known):
        return 0.0, 0.0
    more = [_more_of(known, place) for place in range(len(RECORDED))]
    return sum(before for before, _ in more), sum(after for _, after in more)


def _more_of(sides: Sequence[Sequence[StageFigures]], place: int) -> tuple[float, float]:
    """Of one of `RECORDED`: 0 for one side. What one costs is taken of both together, whose probes differ by chance."""
    each_us = _each_us([one.recorded[place] for side in sides for one in side])
    if not each_us:
        return 0.0, 0.0
    many = [sum(_per_time(one, place) for one in side) / len(side) for side in sides]
    return max(0.0, many[0] - many[1]) * each_us, max(0.0, many[1] - many[0]) * each_us


def _each_us(recorded: Sequence[Recorded | None]) -> float:
    """What recording one took; 0 where there was none, or not all is known."""
    known = [one for one in recorded if one is not None]
    count = sum(one.many for one in known)
    return sum(one.us for one in known) / count if count and len(known) == len(recorded) else 0.0


def _per_time(stage: StageFigures, place: int) -> float:
    """In one of its times in `typical`."""
    found = stage.recorded[place]
    return (found.many if found else 0) / max(1, stage.calls) / stage.samples


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
    """How long it took to record what one side has more of in its stages: a share of its time per unit."""
    return sum(_of_one_side(before, after, unit, what) for what in RECORDED)


def unknown_on_one_side(before: Sequence[Run], after: Sequence[Run]) -> list[str]:
    """Stages of both sides in which operators were recorded at a cost that only one side knows."""
    known = [{stage.path[-1]: True for run in side for stage in _stages(run)} for side in (before, after)]
    for side, names in zip((before, after), known, strict=True):
        for stage in (stage for run in side for stage in _stages(run)):
            names[stage.path[-1]] &= stage.HasField("operators")
    first, second = known
    return [name for name in first if name in second and first[name] != second[name]]


def _of_one_side(before: Sequence[Run], after: Sequence[Run], unit: Unit, what: What) -> float:
    each_us = _each_us([recorded_in(_stages(run), what) for run in (*before, *after)])
    if not each_us:
        return 0.0
    sides = [[_per_unit(run, unit, what) for run in runs] for runs in (before, after)]
    means = [(statistics.fmean(many), statistics.fmean(us)) for many, us in (zip(*side, strict=True) for side in sides)]
    (fewer, _), (more, us) = sorted(means)
    return (more - fewer) * each_us / us if us else 0.0


def _per_unit(run: Run, unit: Unit, what: What) -> tuple[float, float]:
    """How many were recorded in stages, and the time (us). Operators are of the training thread."""
    units, time, found = units_of([run], unit), time_per_unit(run, unit), recorded_in(_stages(run), what)
    if not units or not time or not found:
        return 0.0, 0.0
    return found.many / (units.built.units if what == "spans" else units.taken), time


def _stages(run: Run) -> list[pb.Stage]:
    return [stage for capture in run.captures for stage in capture.stages]
