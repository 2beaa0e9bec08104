"""Stages of both sides, side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tb_dataplugin.compare.beside_loop import only_beside_loop
from tb_dataplugin.compare.built import Units, units_of
from tb_dataplugin.compare.by_chance import absent_by_chance
from tb_dataplugin.compare.call_counts import with_other_calls
from tb_dataplugin.compare.like_batches import of_like_batches
from tb_dataplugin.compare.noise import STAGE_LUCK, Change, Figure, change, holm
from tb_dataplugin.compare.quantity import (
    COME_AND_GONE,
    NONE_AFTER,
    NONE_BEFORE,
    NOT_RECORDED,
    Judged,
    Quantity,
    StageCalls,
    judge_change,
    said_limit,
    surest_first,
)
from tb_dataplugin.compare.recorded import without_recording
from tb_dataplugin.compare.sides import BUSY, MEASURES, Measure, Run, StageFigures, Unit, computes, waiting
from tb_dataplugin.compare.speed import Speed, change_beside, speed_by
from tb_dataplugin.units import duration, magnitude

ALARM: Final = 0.03
"""Probability that any stage is named between equal sides. With the verdict's own 0.02 that is 1 in 20. Each stage has
the part of it that its self time is of all: a large stage is worth finding, many small ones may not raise alarms."""

BESIDE: Final = 0.7
"""Part of the alarm of a measure that goes to its change beside the other stages, where that is known: it has the
least noise. The plain change has the rest."""

LEAST_WITNESSES: Final = 4
"""Other stages, from which their median shows the machine's speed even if one of them changed as well. Where stages
waited for a CPU, fewer show how far it may have moved a time, which no interval of it may leave out."""

LIKELY: Final = 0.8
"""Part of a stage's alarm that goes to the measure which suits it: CPU time if it computes most of its time, else wall
time. The other measure has the rest."""


COLD_US: Final = 8.0
"""CPU time (us) that a call may lose when other programs have used its CPU: the caches are theirs then. Stages of 20 to
60 us took 20 to 50 % more CPU time on a machine where wall times were two to four times as long. What runs beside it
(the same caches, hyperthread, clock) makes calls of any length slower: that is `_drift`."""


SAID_SPEED: Final = 0.02
"""Difference of the machine's speed from which a row says that the time after allows for it."""

NOT_BOTH: Final = (NONE_BEFORE, NONE_AFTER, NOT_RECORDED)
"""Of a stage whose times one side lacks."""

MEASURE_NAMES: Final[dict[Measure, str]] = {"cpu": "CPU time", "wall": "self time"}

LAYOUT_US: Final = 20.0
MOST_LAYOUT: Final = 0.1
"""CPU time (us) of a call that the layout of memory decides, and at most as a share of it: freed memory is given back
and faulted in anew, or it is not, for the life of a process, and alike in all processes whose command lines are equally
long. Folders whose names differed by one character made a stage of 220 us 50 us faster, in each of 50 pairs of runs."""


@dataclass(frozen=True, slots=True)
class Side:
    """A stage's means over the runs of one side: self time per call (us), calls and self time per unit (`built.Units`),
    all of the training loop's calls where it has any.
    `calls_error`: relative, of the mean number of calls, as far as batches differ in it.
    """

    per_call_us: float
    calls: float | None
    per_unit_us: float | None
    calls_error: float = field(compare=False)
    in_sample: bool


@dataclass(frozen=True, slots=True)
class Typical:
    """Self time per call in a typical batch (us), and the change of its logarithm.

    `part` of the stage's alarm is for this measure. `speed_adjusted`: less what the machine's speed explains, by the
    other stages' times; `after_us` too is what it would have been at the same speed.
    """

    change: Change
    measure: Measure
    part: float
    before_us: float
    after_us: float
    speed_adjusted: bool = False
    machine: float = 0.0
    """How much slower the machine was after, as a logarithm; 0 where that is not adjusted for."""
    per_sample: bool = False
    """The times are not per call, but per sample of its batch."""
    recorded_us: tuple[float, float] = (0.0, 0.0)
    """Taken off the times before and after: recording took so much longer on that side."""

    @property
    def probability(self) -> float:
        """Of a change like this, or larger, by any of the measures, between equal sides."""
        return min(1.0, self.change.probability / self.part)


def compare_stages(before: Sequence[Run], after: Sequence[Run], unit: Unit, shared: float) -> list[Quantity]:
    """The surest first, among them the largest change of time per unit.

    Args:
        shared: How much waiting for a CPU may have moved wall times.
    """
    sides = without_recording(of_like_batches(before, after, unit))
    counts = [units_of(runs, unit, "blocks") for runs in (before, after)]
    beside, rare = only_beside_loop(before, after), absent_by_chance(before, after, unit)
    names = sorted({name for side in sides for run in side for name in run})
    shares = {name: _share(sides, name) for name in names}
    typical = {name: _most_telling(sides, name, shared, ALARM * shares[name]) for name in names}
    tested = [name for name, figure in typical.items() if figure is not None]
    probabilities = [figure.probability for name in tested if (figure := typical[name]) is not None]
    real = holm(probabilities, [shares[name] for name in tested], ALARM)
    named = {name for name, is_real in zip(tested, real, strict=True) if is_real}
    is_marked = tuple(any(run.mode != "unannotated" for run in side) for side in (before, after))
    stages = []
    for name, figure in typical.items():
        means = [_side(side, units, name) for side, units in zip(sides, counts, strict=True)]
        reach = figure.change.reach(ALARM * shares[name] * figure.part) if figure and shares[name] else None
        judged = _judged(means[0], means[1], figure, name in named, is_marked)
        if name in beside and judged.text in NOT_BOTH:
            judged = Judged(None, beside[name], "unknown")
        elif name in rare and judged.outcome in COME_AND_GONE:
            judged = Judged(None, f"{judged.text}; {rare[name]}", "unknown")
        stages.append(_quantity(name, means[0], means[1], figure, reach, judged))
    stages.sort(key=lambda stage: (-abs((stage.calls and stage.calls.change_us) or 0.0), stage.name))
    return surest_first(with_other_calls(stages))


def _quantity(
    name: str, before: Side | None, after: Side | None, typical: Typical | None, reach: float | None, judged: Judged
) -> Quantity:
    """`reach` is how far noise gets with the probability from which the stage is named."""
    before_us, after_us = _times_us(before, after, typical)
    return Quantity(
        kind="stage",
        name=name,
        title=name,
        before_us=before_us,
        after_us=after_us,
        change=typical.change.relative if typical else None,
        interval=judged.interval,
        interval_text=judged.text + (says_less(typical) if typical else ""),
        outcome=judged.outcome,
        detectable=None if judged.outcome in ("identical", "too_short") else said_limit(reach),
        calls=StageCalls(
            before=before.calls if before else None,
            after=after.calls if after else None,
            change_us=_change_us(before, after),
            measure=typical.measure if typical else "",
            speed_adjusted=typical is not None and typical.speed_adjusted,
            error=math.hypot(*(side.calls_error for side in (before, after) if side)),
            in_sample=all(side.in_sample for side in (before, after) if side),
            per_sample=typical is not None and typical.per_sample,
        ),
    )


def _judged(
    before: Side | None, after: Side | None, typical: Typical | None, significant: bool, is_marked: tuple[bool, ...]
) -> Judged:
    """`is_marked`: whether the captures of each side have stages at all; a plain one has none to miss."""
    if any(side is None and not marked for side, marked in zip((before, after), is_marked, strict=True)):
        return Judged(None, NOT_RECORDED, "unknown")
    if before is None:
        return Judged(None, NONE_BEFORE, "new")
    if after is None:
        return Judged(None, NONE_AFTER, "gone")
    if typical is None:
        return Judged(None, NOT_RECORDED, "unknown")
    same = typical.change.value == 0 and before == after
    return judge_change("stage", typical.change.value, typical.change.bounds, significant, same)


def _times_us(before: Side | None, after: Side | None, typical: Typical | None) -> tuple[float | None, float | None]:
    """What the change is of; where there is no change, the mean self time per call."""
    if typical is not None:
        return typical.before_us, typical.after_us
    return before.per_call_us if before else None, after.per_call_us if after else None


def says_less(typical: Typical) -> str:
    """How far the times are not as they were recorded: without what recording took on one side alone, and after at the
    machine's speed of before; "" where they are.
    """
    slower = math.expm1(typical.machine)
    less = [
        f"{when}: less about {duration(us)} that recording took"
        for when, us in zip(("before", "after"), typical.recorded_us, strict=True)
        if us
    ]
    if typical.speed_adjusted and abs(slower) >= SAID_SPEED:
        less.append(f"after: less what a machine {magnitude(slower)} {'slower' if slower > 0 else 'faster'} explains")
    return f"; {', '.join(less)}" if less else ""


def _change_us(before: Side | None, after: Side | None) -> float | None:
    """Change of its self time per unit."""
    sides = [side.per_unit_us if side else 0.0 for side in (before, after)]
    return None if sides[0] is None or sides[1] is None else sides[1] - sides[0]


def _share(sides: list[list[dict[str, StageFigures]]], name: str) -> float:
    """Of a stage in all self time: the mean over all runs."""
    known = [run for side in sides for run in side if run]
    wholes = [math.fsum(figures.self_us for figures in run.values()) for run in known]
    shares = [run[name].self_us / whole for run, whole in zip(known, wholes, strict=True) if name in run and whole]
    return math.fsum(shares) / len(known)


def _side(runs: list[dict[str, StageFigures]], units: Units | None, name: str) -> Side | None:
    """None when no run of the side has the stage. `units`: of all its runs; None where they are unknown."""
    known = [run[name] for run in runs if name in run]
    if not known:
        return None
    calls, spent = sum(figures.calls for figures in known), sum(figures.self_us for figures in known)
    in_loop = sum(figures.in_loop.calls for figures in known)
    in_loop_us = sum(figures.in_loop.self_us for figures in known)
    error = _relative_error([count for figures in known for count in figures.counts])
    in_sample = all(figures.in_sample for figures in known)
    count = units.per(name).units if units else 0.0
    per_call_us = in_loop_us / in_loop if in_loop else spent / calls
    told = in_loop / count if count and units and units.tells_calls(name) else None
    return Side(per_call_us, told, in_loop_us / count if count else None, error, in_sample)


def _relative_error(counts: Sequence[int]) -> float:
    """Of their mean: one batch with a hundred calls makes it nearly 1. A window cuts off a call at its edge."""
    edge = 1 / sum(counts) if counts else 0.0
    if len(counts) < 2:
        return edge
    return math.hypot(edge, statistics.stdev(counts) / statistics.fmean(counts) / math.sqrt(len(counts)))


def _most_telling(
    sides: list[list[dict[str, StageFigures]]], name: str, shared: float, own_alarm: float
) -> Typical | None:
    """By CPU time, or by wall time: the one that suits the stage, unless it is not significant and the other may be.

    CPU time does not suffer from neighbours on the machine; wall time knows of waiting for files. None for a stage that
    a run lacks. What the other stages changed by may be the machine's speed (`drift`).

    Args:
        own_alarm: the stage's part of the alarm: below it, it is named whatever the others do.
    """
    runs = [[run.get(name) for run in side] for side in sides]
    known = [[figures for figures in side if figures is not None] for side in runs]
    if [len(side) for side in known] != [len(side) for side in sides]:
        return None
    everywhere = [figures for side in known for figures in side]
    measures = [measure for measure in MEASURES if all(measure in figures.typical for figures in everywhere)]
    computing = len(measures) == 2 and all(computes(figures, shared) for figures in everywhere)
    suits: Measure = "cpu" if computing else "wall"
    candidates = []
    speed, drift, waits = _speed(sides, name), _drift(sides, name, shared), _waits(sides, name, shared)
    is_alone = shared > BUSY and not _witnesses(sides, name)  # nothing shows what sharing did to a CPU time
    for measure in measures:
        before, after = ([figures.typical[measure] for figures in side] for side in known)
        part = 1.0 if len(measures) == 1 else LIKELY if measure == suits else 1 - LIKELY
        times = _typical_us(before), _typical_us(after)
        call_us = _typical_us(before + after) * math.sqrt(known[0][0].samples * known[1][0].samples)
        noise = waits if measure == "wall" else shared if is_alone else shared * min(1.0, COLD_US / call_us)
        layout = min(MOST_LAYOUT, LAYOUT_US / call_us)
        follows = min(abs(drift), _followed(sides, name, before, after)) if measure == "wall" else drift
        moved = change(before, after, STAGE_LUCK, noise, layout, follows)
        is_per_sample = known[0][0].samples > 1 or known[1][0].samples > 1
        less_us = known[0][0].less_us, known[1][0].less_us
        plain = Typical(moved, measure, part, *times, per_sample=is_per_sample, recorded_us=less_us)
        candidates += _both(plain, before, after, speed, layout) if measure == "cpu" else [plain]
    return _choose(candidates, suits, own_alarm)


def _waits(sides: list[list[dict[str, StageFigures]]], name: str, shared: float) -> float:
    """How much longer a stage's wall time may be for waiting for a CPU, as a logarithm: in the run where that is most.

    Its own wait is estimated by its CPU time. What it is blocked for may have waited, too, if a thread or a child
    process of its own works meanwhile: that is taken to be as much as of all stages' time. `shared` where waits were
    not recorded.
    """
    runs = [run for side in sides for run in side]
    own = [run[name].stretched if run[name].waited_us is not None else None for run in runs]
    known = [max(stretched, waiting(run)) for stretched, run in zip(own, runs, strict=True) if stretched is not None]
    return min(shared, max(known)) if len(known) == len(runs) else shared


def _choose(candidates: list[Typical], suits: Measure, own_alarm: float) -> Typical | None:
    """Among those that are significant in any case, the one that suits the stage; else the surest, if it may be."""
    surest = min(candidates, key=lambda candidate: candidate.probability, default=None)
    suited = [candidate for candidate in candidates if candidate.measure == suits]
    if surest is None or not suited:
        return surest
    if surest.probability > ALARM:
        return suited[0]
    best = min(suited, key=lambda candidate: candidate.probability)
    return best if best.probability <= own_alarm else surest


def _both(
    plain: Typical, before: list[Figure], after: list[Figure], speed: Speed | None, layout: float
) -> list[Typical]:
    """The change beside the other stages, where there is one, and the plain one."""
    beside = None if speed is None else change_beside(before, after, speed, layout)
    if beside is None:
        return [plain]
    first = replace(
        plain,
        change=beside,
        part=plain.part * BESIDE,
        after_us=plain.before_us * math.exp(beside.value),
        speed_adjusted=True,
        machine=plain.change.value - beside.value,
    )
    return [first, replace(plain, part=plain.part * (1 - BESIDE))]


def _speed(sides: list[list[dict[str, StageFigures]]], name: str) -> Speed | None:
    """How much longer the other stages took in each run, by their CPU time: the median of logarithms, per side."""
    witnesses = _witnesses(sides, name)
    return _speed_of(sides, witnesses) if len(witnesses) >= LEAST_WITNESSES else None


def _speed_of(sides: list[list[dict[str, StageFigures]]], witnesses: list[str]) -> Speed:
    table = [[run[other].typical["cpu"].value for other in witnesses] for side in sides for run in side]
    return speed_by(np.array(table), len(sides[0]))


def _witnesses(sides: list[list[dict[str, StageFigures]]], name: str) -> list[str]:
    """The other stages whose CPU time all runs have."""
    runs = [run for side in sides for run in side]
    return [
        other
        for other in runs[0]
        if other != name and all(other in run and "cpu" in run[other].typical for run in runs)
    ]


def _followed(
    sides: list[list[dict[str, StageFigures]]], name: str, before: list[Figure], after: list[Figure]
) -> float:
    """How far the machine's speed moved a stage's times as far as the runs of one side show how they follow it; as of
    its whole time where they do not: few other stages or runs."""
    speed = _speed(sides, name)
    return speed.moved_with(before, after) if speed is not None else math.inf


def _drift(sides: list[list[dict[str, StageFigures]]], name: str, shared: float) -> float:
    """How far the machine's speed may have moved a stage's times, as a logarithm.

    Few other stages may have changed themselves, and are asked only where the machine was shared.
    """
    witnesses = _witnesses(sides, name)
    if not witnesses or (len(witnesses) < LEAST_WITNESSES and shared <= BUSY):
        return 0.0
    speed = _speed_of(sides, witnesses)
    return 0.0 if speed.differs else speed.moved


def _typical_us(side: list[Figure]) -> float:
    return math.exp(sum(figure.value for figure in side) / len(side))
