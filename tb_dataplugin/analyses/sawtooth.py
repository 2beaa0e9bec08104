"""The sawtooth: every N-th step waits, because N DataLoader workers have their batches ready at about the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.step_table import StepTable

LEAST_TEETH: Final = 3
"""Fewer steps that stand out may be chance."""

TOOTH_SHARE_OF_TWO: Final = 0.85
"""Share of the data wait that every other step has with two workers; half of it is every other step's by itself."""

TOOTH_SHARE: Final = 0.6
"""The same with more workers."""

LEAST_WAIT: Final = 0.02
"""Data wait as a share of the steps, below which it is noise, whatever its pattern."""


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """`period` is the number of workers, `data_wait_ns` that of every `period`-th step, `share` its share of the data
    wait that is not told apart; `steps` are the numbers of the steps that stand out.
    """

    period: int
    data_wait_ns: int
    share: float
    steps: tuple[int, ...]
    without_starts: bool = False
    """Data wait that is told apart is left out of all of it."""


def find_sawtooth(table: StepTable, num_workers: int | None) -> Sawtooth | None:
    """None where one step in `num_workers` does not stand out. What is told apart is no part of the pattern."""
    period = num_workers or 0
    rows = table.rows
    if period < 2 or len(rows) < LEAST_TEETH * period:
        return None
    waits = [(row.data_wait_ns or 0) - row.apart_ns for row in rows]
    whole = sum(waits)
    if not whole or whole < LEAST_WAIT * sum(row.duration_ns for row in rows):
        return None
    phases = [sum(waits[phase::period]) for phase in range(period)]
    most = max(phases)
    if most < (TOOTH_SHARE_OF_TWO if period == 2 else TOOTH_SHARE) * whole:
        return None
    mean = whole / len(rows)
    places = range(phases.index(most), len(rows), period)
    teeth = tuple(rows[place].number for place in places if waits[place] > mean)
    is_partial = any(row.apart_ns for row in rows)
    return Sawtooth(period, most, most / whole, teeth, is_partial) if len(teeth) >= LEAST_TEETH else None
