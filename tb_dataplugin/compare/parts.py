"""What the time per unit went to, on both sides: the data wait and its stages, device work, idle time by cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import Final

import numpy as np

from tb_dataplugin.compare.by_chance import absent_by_chance
from tb_dataplugin.compare.noise import Floats, holm, share_variance
from tb_dataplugin.compare.quantity import (
    CAUSED_NONE_AFTER,
    COME_AND_GONE,
    NEEDS_RUNS,
    NONE_AFTER,
    NONE_BEFORE,
    NOT_IN_ALL,
    NOT_RECORDED,
    TOO_FEW,
    Judged,
    Kind,
    Quantity,
    judge_change,
    surest_first,
)
from tb_dataplugin.compare.ratio import PartFigure, Ratio, part_figure, part_mean
from tb_dataplugin.compare.sides import Run, Unit, step_blocks, time_per_unit
from tb_dataplugin.findings.limit_texts import NAMES
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.words import NO_STAGES, TRANSFER_PARTS, cause_label, label_of

ALARM: Final = 0.03
"""Probability that any part of the time is called more or less between equal sides; the same for data wait by stage."""

LITTLE: Final = 0.01
"""Part of the largest of its kind, below which a part comes last, however sure: it may have come or gone by chance."""

OWN: Final = "rest:"
"""Begins the names of what the training thread waited for outside the data wait."""

LIMITS: Final = ("gil", "gc", "no_cpu", "blocked")

PerCapture = Callable[[pb.Capture], float | None]
PerStep = Callable[[pb.Step], float]


@dataclass(frozen=True, slots=True)
class _Part:
    """How to read a part off a capture, and off a step where steps have it."""

    kind: Kind
    name: str
    title: str
    of_capture: PerCapture
    of_step: PerStep | None = None
    of_samples: PerCapture | None = None
    """Where it is a share of samples of `_rest`: how many these are."""
    is_gone: bool = False
    """Of the data wait of a stage that the other side does not have any more."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Means per unit (us), None where a side has none; `ratio` where all runs of both sides have it. `has_few_samples`:
    it is a share of samples, and every run that has none of it was sampled.
    """

    part: _Part
    before_us: float | None
    after_us: float | None
    ratio: Ratio | None
    has_few_samples: bool = False

    @property
    def both_us(self) -> float:
        """Says nothing about the change."""
        return (self.before_us or 0.0) + (self.after_us or 0.0)

    @property
    def size_us(self) -> float:
        return max(self.before_us or 0.0, self.after_us or 0.0)


def compare_parts(before: Sequence[Run], after: Sequence[Run], unit: Unit, shared: float) -> list[Quantity]:
    """The parts of the time, then the data wait by stage; the surest first, among them the largest; small ones last.

    Those that neither side has are left out.
    """
    captures = [capture for run in (*before, *after) for capture in run.captures]
    left = {stage.path[-1] for run in after for capture in run.captures for stage in capture.stages if stage.path}
    left |= absent_by_chance(before, after, unit).keys()
    measured = [_measure(part, before, after, unit, shared) for part in _parts(captures, left)]
    kinds: tuple[Kind, ...] = ("part", "data_wait_by_stage")
    return [quantity for kind in kinds for quantity in _judge_kind([m for m in measured if m.part.kind == kind])]


def _judge_kind(measured: Sequence[_Measured]) -> list[Quantity]:
    """Each part on its own, with an error rate for all of them together, of which large parts have more."""
    known = [one for one in measured if one.size_us > 0]
    tested = [one for one in known if one.ratio is not None]
    real = holm([one.ratio.probability for one in tested if one.ratio], [one.both_us for one in tested], ALARM)
    significant = {one.part.name for one, is_real in zip(tested, real, strict=True) if is_real}
    known.sort(key=lambda one: -one.size_us)
    largest = max((one.size_us for one in known), default=0.0)
    large = [one.size_us >= LITTLE * largest for one in known]
    quantities = [_quantity(one, one.part.name in significant) for one in known]
    return [*surest_first(compress(quantities, large)), *surest_first(compress(quantities, map(not_, large)))]


def _quantity(one: _Measured, significant: bool) -> Quantity:
    judged = _judged(one, significant)
    has_change = judged.text != NEEDS_RUNS and judged.outcome not in COME_AND_GONE  # as in the table of stages
    return Quantity(
        kind=one.part.kind,
        name=one.part.name,
        title=one.part.title,
        before_us=one.before_us,
        after_us=one.after_us,
        change=one.ratio.change if one.ratio and has_change else None,
        interval=judged.interval,
        interval_text=judged.text,
        outcome=judged.outcome,
    )


def _judged(one: _Measured, significant: bool) -> Judged:
    if one.ratio is None:
        return Judged(None, _why_unknown(one), "unknown")
    if one.part.is_gone and one.ratio.before.value and not one.ratio.after.value:
        return Judged(None, NONE_AFTER, "gone")
    difference = one.ratio.after.value - one.ratio.before.value
    judged = judge_change(one.part.kind, difference, one.ratio.bounds, significant, not difference)
    if judged.interval is None and judged.outcome != "identical":
        if one.part.of_step is None and not one.ratio.is_known:
            return Judged(None, NEEDS_RUNS, "unknown")
        if significant and not one.ratio.before.value:
            return Judged(None, NONE_BEFORE, judged.outcome)
    if one.part.kind == "data_wait_by_stage" and difference and not one.ratio.after.value:
        return Judged(None, CAUSED_NONE_AFTER, "less" if significant else "not_significant")
    return judged


def _why_unknown(one: _Measured) -> str:
    if one.has_few_samples:
        return TOO_FEW
    return NOT_RECORDED if one.before_us is None or one.after_us is None else NOT_IN_ALL


def _parts(captures: Sequence[pb.Capture], left: Set[str]) -> list[_Part]:
    """`left`: the stages that are there after the change, or may be."""
    idle = [(field.name, cause_label(field.name)) for field in pb.IdleByCause.DESCRIPTOR.fields]
    of_transfer = {term.id for term in TRANSFER_PARTS}
    stages = sorted({name for capture in captures for name in capture.loader.wait_by_stage_us})
    return [
        _Part("part", "data_wait", "data wait", _data_wait, lambda step: step.data_wait_us - step.apart_us),
        _Part("part", "rest", "rest of the step", _rest, _rest_of_step),
        _Part("part", "device_busy", "device busy", _device_busy, lambda step: step.device_busy_us),
        *(_Part("part", f"{OWN}{name}", NAMES[name], _limit(name), of_samples=_samples) for name in LIMITS),
        *(
            _Part("part", f"idle:{cause}", f"idle: {label}", _idle(cause), _idle_of_step(cause))
            for cause, label in idle
        ),
        *(
            _Part(
                "data_wait_by_stage",
                f"data_wait:{stage}",
                f"data wait: {label_of(NO_STAGES, stage)}",
                _caused_by(stage),
                is_gone="::" in stage and stage not in left and stage not in of_transfer,
            )
            for stage in stages
        ),
    ]


def _data_wait(capture: pb.Capture) -> float | None:
    return capture.loader.wait_us - capture.loader.apart.wait_us if capture.HasField("loader") else None


def _rest(capture: pb.Capture) -> float | None:
    loader = capture.loader
    return capture.window_us - loader.wait_us - loader.apart.between_us if capture.HasField("loader") else None


def _rest_of_step(step: pb.Step) -> float:
    return step.duration_us - step.data_wait_us - step.between_us


def _limit(name: str) -> PerCapture:
    """What the training thread waited for outside the data wait; blocked by a device it is where that is busy. Samples
    are of all of that, the work for other DataLoaders included, which the rest of the step is without.
    """

    def of(capture: pb.Capture) -> float | None:
        limits = capture.thread_samples.host_limited_by_us
        if name == "blocked" and capture.devices:
            return None
        rest, apart = _rest(capture), capture.loader.apart.between_us
        part = rest / (rest + apart) if rest and apart else 1.0
        return part * float(getattr(limits, name)) if limits.HasField(name) else None  # type: ignore[arg-type]

    return of


def _samples(capture: pb.Capture) -> float:
    return float(capture.thread_samples.host_limited_by_us.samples)


def _sampling(part: _Part, capture: pb.Capture) -> float:
    """Variance (us squared) of a part that is a share of samples."""
    spent, whole = part.of_capture(capture), _rest(capture)
    samples = part.of_samples(capture) if part.of_samples else 0.0
    if spent is None or not whole or not samples:
        return 0.0
    return whole**2 * share_variance(min(1.0, spent / whole), round(samples))


def _device_busy(capture: pb.Capture) -> float | None:
    return capture.devices[0].busy_us if capture.devices else None


def _idle(cause: str) -> PerCapture:
    def of(capture: pb.Capture) -> float | None:
        causes = capture.devices[0].idle_by_cause_us if capture.devices else pb.IdleByCause()
        apart = capture.loader.apart.idle_us if cause == "data_wait" else 0.0
        return float(getattr(causes, cause)) - apart if causes.HasField(cause) else None  # type: ignore[arg-type]

    return of


def _idle_of_step(cause: str) -> PerStep:
    def of(step: pb.Step) -> float:
        time = float(getattr(step.idle_by_cause_us, cause))
        return max(0.0, time - step.apart_us) if cause == "data_wait" else time

    return of


def _caused_by(stage: str) -> PerCapture:
    """A stage that waits were passed on to has none of them where it is not named."""

    def of(capture: pb.Capture) -> float | None:
        known, apart = capture.loader.wait_by_stage_us, capture.loader.apart.wait_by_stage_us
        return known.get(stage, 0.0) - apart.get(stage, 0.0) if known else None

    return of


def _measure(part: _Part, before: Sequence[Run], after: Sequence[Run], unit: Unit, shared: float) -> _Measured:
    sides = [[_figure(part, run, unit) for run in runs] for runs in (before, after)]
    known = [[figure for figure in side if figure is not None] for side in sides]
    means = [sum(figure.value for figure in side) / len(side) if side else None for side in known]
    complete = all(len(figures) == len(side) for figures, side in zip(known, sides, strict=True))
    ratio = Ratio(part_mean(known[0], shared), part_mean(known[1], shared)) if complete else None
    lacking = [
        run
        for runs, side in zip((before, after), sides, strict=True)
        for run, figure in zip(runs, side, strict=True)
        if figure is None
    ]
    few = part.of_samples is not None and all(map(_was_sampled, lacking))
    return _Measured(part, means[0], means[1], ratio, has_few_samples=few)


def _was_sampled(run: Run) -> bool:
    return all(capture.thread_samples.samples for capture in run.captures)


def _figure(part: _Part, run: Run, unit: Unit) -> PartFigure | None:
    spent, count, steps, whole = (
        run.total(part.of_capture),
        run.units(unit),
        run.units("step"),
        time_per_unit(run, unit),
    )
    if spent is None or not count or whole is None:
        return None
    blocks: Floats = np.empty(0)
    if part.of_step and steps:
        blocks = np.concatenate([step_blocks(capture, part.of_step) for capture in run.captures]) * (steps / count)
    if part.of_samples is not None:
        variance = sum(_sampling(part, capture) for capture in run.captures)
        return PartFigure(spent / count, whole, variance / count**2, max(1.0, (run.total(part.of_samples) or 0.0) - 1))
    return part_figure(spent / count, whole, blocks)
