"""How many steps an epoch has, and what its start adds to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_dataplugin.findings.apart_signals import LoaderStarts, StartSignals
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import SEVERAL_EPOCHS
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import plural


@dataclass(frozen=True, slots=True)
class EpochLength:
    """`is_known`: else an epoch is taken to start once in the window, which may be longer than it, or shorter."""

    steps: float
    is_known: bool
    outside: float = 0.0
    inside: float = 0.0
    """Where a loop inside steps begins epochs as well: how many steps are between two of these, and between two of the
    others (0: none of them); `steps` is the mean of all."""

    @property
    def text(self) -> str:
        """As a sentence goes on behind a comma, or in brackets."""
        steps = plural(round(self.steps), "step")
        if self.inside and self.outside:
            own, inner = round(self.outside), round(self.inside)
            steps += f" on average: for the loop once in {own}, and for one inside it once in {inner}"
        if self.is_known:
            return f"once in {steps}"
        return f"counted as once in {steps}, as in the window: how many an epoch has is unknown"


def steps_between(signals: Signals, starts: StartSignals, other: LoaderInfo | None = None) -> EpochLength | None:
    """How many steps an epoch has: those between its starts in the window; of one start, as many as the epoch before it
    had, else as its sampler's length says. `other`: whose epochs they are, if not those of the loop's loader: each step
    takes one batch of it.
    """
    if not signals.step_count:
        return None
    if starts.inside:
        return _with_inside(signals, starts, other)
    if starts.repeated > 1 and len(starts.steps) > 1:
        return EpochLength(_distance(starts.steps), is_known=True)
    return _of_one_start(signals, starts, other)


def _of_one_start(
    signals: Signals, starts: StartSignals, other: LoaderInfo | None, count: int | None = None
) -> EpochLength:
    """`count`: starts in the window, where they are not all."""
    steps = signals.step_count or 0
    known = starts.steps_before or _by_sampler(signals, steps, other)
    return EpochLength(known or steps / (count or starts.repeated), is_known=bool(known))


def _with_inside(signals: Signals, starts: StartSignals, other: LoaderInfo | None) -> EpochLength:
    """An evaluation of the same DataLoader comes at distances of its own: together they are in no rhythm."""
    inside = _distance(starts.inside)
    is_known, inside = inside > 0, inside or (signals.step_count or 0)
    if not starts.outside:
        return EpochLength(inside, is_known, inside=inside)
    outside = _distance(starts.outside)
    others = EpochLength(outside, is_known=True) if outside else _of_one_start(signals, starts, other, count=1)
    mean = 1 / (1 / inside + 1 / others.steps)
    return EpochLength(mean, is_known and others.is_known, others.steps, inside)


def _distance(steps: Sequence[int]) -> float:
    """Between two of these, on average; 0 of a single one."""
    return (steps[-1] - steps[0]) / (len(steps) - 1) if len(steps) > 1 else 0.0


def _by_sampler(signals: Signals, steps: int, other: LoaderInfo | None) -> float | None:
    if other is not None:
        return other.sampler_length / other.batch_size if other.sampler_length and other.batch_size else None
    length, rates = signals.loader.sampler_length if signals.loader else None, signals.throughput
    if signals.loader is not None and signals.loader.is_whole:  # each index, or list of them, is a batch
        return float(length) if length else None
    return length / (rates.samples / steps) if length and rates is not None and rates.samples else None


def recurring_starts(signals: Signals) -> StartSignals | None:
    """Starts that come again and again, a part of the time per step as any other; None where the window has none, or
    one by chance. The loader's very first does not count.
    """
    starts = signals.apart.worth_a_word.starts if signals.apart else None
    return starts if starts is not None and starts.repeated >= SEVERAL_EPOCHS else None


def start_us_per_step(signals: Signals, one: LoaderStarts | None = None) -> float:
    """What the starts of epochs after the first add to each step; 0 where none of them is in the window. `one`: of that
    DataLoader alone.
    """
    if one is not None:
        return _per_step(signals, one.starts, one.starts.again_each_us, None if one.is_main else one.loader)
    starts = signals.apart.starts if signals.apart else None
    return _per_step(signals, starts, starts.again_each_us) if starts is not None else 0.0


def recurring_us_per_step(signals: Signals, stage: str | None = None) -> float:
    """The same of `recurring_starts`: all of it, or what `stage` caused."""
    starts = recurring_starts(signals)
    if starts is None:
        return 0.0
    each_us = starts.again_each_us if stage is None else starts.again_by_stage.get(stage, 0.0) / starts.repeated
    return _per_step(signals, starts, each_us)


def _per_step(signals: Signals, starts: StartSignals, each_us: float, other: LoaderInfo | None = None) -> float:
    length = steps_between(signals, starts, other) if starts.repeated else None
    return each_us / length.steps if length else 0.0
