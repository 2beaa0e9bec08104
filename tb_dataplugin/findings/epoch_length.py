"""How many steps an epoch has, and what its start adds to each of them."""

from __future__ import annotations

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

    @property
    def text(self) -> str:
        """As a sentence goes on behind a comma."""
        steps = plural(round(self.steps), "step")
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
    if starts.repeated > 1 and len(starts.steps) > 1:
        return EpochLength((starts.steps[-1] - starts.steps[0]) / (len(starts.steps) - 1), is_known=True)
    known = starts.steps_before or _by_sampler(signals, signals.step_count, other)
    return EpochLength(known or signals.step_count / starts.repeated, is_known=bool(known))


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
