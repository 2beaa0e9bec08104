"""Steps that take longer where their batches are larger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnevenSignals:
    """What `analyses.uneven_batches` found. Sizes in bytes. `padding_us`:
    None where samples have no size.
    """

    steps: int
    largest: int
    own_us: float
    largest_us: float
    usual_bytes: float
    largest_bytes: float
    excess_us: float
    padding_us: float | None
    is_grouped: bool
