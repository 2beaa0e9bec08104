"""What of a gain in the step's own work is torch's profiler, and no gain without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration
from tb_dataplugin.words import GAIN_BOUND

OF_PROFILER: Final = f"{GAIN_BOUND}_of_profiler"


def of_profiler(signals: Signals, gain_us: float | None) -> Iterator[Evidence]:
    """A run without the profiler has no such time. Which part of the step has how much of it is not recorded: it goes
    with operators and launches.
    """
    most = min(gain_us or 0.0, signals.profiler_us)
    if most > 0:
        part = f"up to {duration(most)} per step of this gain"
        text = f"{part} is torch's profiler's own time, which runs without it do not have"
        yield time(OF_PROFILER, most, text, whole="step")
