"""Signals about Python's garbage collector."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Collections:
    """Full collections of Python's garbage in the training thread, within the window. `are_few`: chance decides how
    much of it they have.
    """

    count: int = 0
    total_us: float = 0.0
    are_few: bool = False


@dataclass(frozen=True, slots=True)
class GarbageSignals:
    """The training process in Python's garbage collector. None: not recorded, or not known."""

    all_us: float | None = None
    """In the whole window."""
    wait_us: float | None = None
    """In the data wait."""
    step_us: float | None = None
    """In the training thread, outside the data wait."""
    full: Collections = field(default_factory=Collections)
    """Which part of it falls on any stage by chance."""
