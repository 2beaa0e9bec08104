"""Data wait that the run has and the capture has not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnrecordedWait:
    """Without torch's profiler: `share` of a step that the data wait would have, up to `more_us` per step more than was
    measured. `profiler_us`: its own time in the rest of a step.
    """

    share: float
    more_us: float
    profiler_us: float
