"""What the time per sample went to, on both sides: the data wait and its stages, device work, idle time by cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.compare.noise import TIME_LUCK, Change, Figure, Floats, change, share_figure
from tb_dataplugin.compare.sides import Run, Unit, step_blocks, time_per_unit
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.words import cause_label

PerCapture = Callable[[pb.Capture], float | None]
PerStep = Callable[[pb.Step], float]


@dataclass(frozen=True, slots=True)
class PartChange:
    """Means per unit (us); None: not known on that side. `change` is a share of the whole time per unit before.

    `by_stage`: a part of the data wait by stage, not of the time itself.
    """

    name: str
    title: str
    by_stage: bool
    before_us: float | None
    after_us: float | None
    change: Change | None


@dataclass(frozen=True, slots=True)
class _Part:
    """How to read a part off a capture, and off a step where steps have it."""

    name: str
    title: str
    of_capture: PerCapture
    of_step: PerStep | None = None


def compare_parts(before: Sequence[Run], after: Sequence[Run], unit: Unit, shared: float) -> list[PartChange]:
    wholes = [whole for run in before if (whole := time_per_unit(run, unit)) is not None]
    if len(wholes) < len(before):
        return []
    whole = sum(wholes) / len(wholes)
    captures = [capture for run in (*before, *after) for capture in run.captures]
    parts = (_compare(part, before, after, unit, whole, shared) for part in _parts(captures))
    return [part for part in parts if part.before_us is not None or part.after_us is not None]


def _parts(captures: Sequence[pb.Capture]) -> list[_Part]:
    idle = [(field.name, cause_label(field.name)) for field in pb.IdleByCause.DESCRIPTOR.fields]
    stages = sorted({name for capture in captures for name in capture.loader.wait_by_stage_us})
    return [
        _Part("data_wait", "data wait", _data_wait, lambda step: step.data_wait_us),
        _Part("rest", "rest of the step", _rest, lambda step: step.duration_us - step.data_wait_us),
        _Part("device_busy", "device busy", _device_busy, lambda step: step.device_busy_us),
        *(_Part(f"idle:{cause}", f"idle: {label}", _idle(cause), _idle_of_step(cause)) for cause, label in idle),
        *(_Part(f"data_wait:{stage}", f"data wait: {stage}", _caused_by(stage)) for stage in stages),
    ]


def _data_wait(capture: pb.Capture) -> float | None:
    return capture.loader.wait_us if capture.HasField("loader") else None


def _rest(capture: pb.Capture) -> float | None:
    return capture.window_us - capture.loader.wait_us if capture.HasField("loader") else None


def _device_busy(capture: pb.Capture) -> float | None:
    return capture.devices[0].busy_us if capture.devices else None


def _idle(cause: str) -> PerCapture:
    def of(capture: pb.Capture) -> float | None:
        causes = capture.devices[0].idle_by_cause_us if capture.devices else pb.IdleByCause()
        return float(getattr(causes, cause)) if causes.HasField(cause) else None  # type: ignore[arg-type]

    return of


def _idle_of_step(cause: str) -> PerStep:
    return lambda step: float(getattr(step.idle_by_cause_us, cause))


def _caused_by(stage: str) -> PerCapture:
    """A stage that waits were passed on to has none of them where it is not named."""

    def of(capture: pb.Capture) -> float | None:
        known = capture.loader.wait_by_stage_us
        return known.get(stage, 0.0) if known else None

    return of


def _compare(
    part: _Part, before: Sequence[Run], after: Sequence[Run], unit: Unit, whole: float, shared: float
) -> PartChange:
    sides = [[_figure(part, run, unit, whole) for run in runs] for runs in (before, after)]
    known = [[figures for figures in side if figures is not None] for side in sides]
    means = [sum(figures.value for figures in side) / len(side) * whole if side else None for side in known]
    complete = all(len(figures) == len(side) for figures, side in zip(known, sides, strict=True))
    return PartChange(
        name=part.name,
        title=part.title,
        by_stage=part.name.startswith("data_wait:"),
        before_us=means[0],
        after_us=means[1],
        change=change(known[0], known[1], TIME_LUCK, shared) if complete else None,
    )


def _figure(part: _Part, run: Run, unit: Unit, whole: float) -> Figure | None:
    spent, count, steps = run.total(part.of_capture), run.units(unit), run.units("step")
    if spent is None or not count:
        return None
    blocks: Floats = np.empty(0)
    if part.of_step and steps:
        blocks = np.concatenate([step_blocks(capture, part.of_step) for capture in run.captures]) * (steps / count)
    return share_figure(spent / count, blocks, whole)
