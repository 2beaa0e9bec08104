"""The facts about DataLoader workers that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LIVED_THROUGH: Final = 0.98
"""Share of the window from which workers count as alive all the time."""


@dataclass(frozen=True, slots=True)
class WorkerSignals:
    """DataLoader workers of the loader with most batches. Shares are of their lifetimes, all of them together."""

    workers: int
    """Worker ids."""
    alive: float
    """How many were alive at once, on average over the window."""
    batches: float
    """Batches that each finished in the window, on average."""
    busy: float
    """Share in which they build batches."""
    starved: float
    """Share in which they have no index in their queue although the loader still has indices to give."""
    slowest: int
    """The worker with the largest skew."""
    skew: float
    """Its busy share over that of all."""
    taken_per_built: float = 1.0
    """Batches that the loop took in the window for each that was built in it: above 1 it lived on batches from before,
    and in the long run each step needs so many times of what workers spent on it here.
    """

    @property
    def whole(self) -> str:
        """What shares are of, as a sentence has it."""
        return "window" if self.alive >= LIVED_THROUGH * self.workers else "their lifetimes"

    @property
    def of_whole(self) -> str:
        return f"of {'the ' if self.whole == 'window' else ''}{self.whole}"
