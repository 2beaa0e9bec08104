"""How many steps an epoch has, and what its start adds to each of them."""

from __future__ import annotations

from tb_dataplugin.findings.apart_signals import StartSignals
from tb_dataplugin.findings.signals import Signals


def steps_between(signals: Signals, starts: StartSignals) -> float | None:
    """How many steps an epoch has: those between its starts in the window; of one start, as many as its sampler's
    length says, else those of the window.
    """
    if not signals.step_count:
        return None
    if starts.repeated > 1 and len(starts.steps) > 1:
        return (starts.steps[-1] - starts.steps[0]) / (len(starts.steps) - 1)
    length, rates = signals.loader.sampler_length if signals.loader else None, signals.throughput
    if not length or rates is None or not rates.samples:
        return signals.step_count / starts.repeated
    return length / (rates.samples / signals.step_count)


def start_us_per_step(signals: Signals) -> float:
    """What the starts of epochs after the first add to each step; 0 where none of them is in the window."""
    starts = signals.apart.starts if signals.apart else None
    steps = steps_between(signals, starts) if starts is not None and starts.repeated else None
    return (starts.repeated_us / starts.repeated + starts.end_us) / steps if starts and steps else 0.0
