"""One step whose own work, outside the data wait, is much of all steps', as one that saves a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.sawtooth import LONE_SHARE, LONE_TIMES
from tb_dataplugin.analyses.step_table import StepTable


@dataclass(frozen=True, slots=True)
class LoneWork:
    """The step's number; its share of the steps' time outside the data wait, and by how much it is longer than theirs
    on average.
    """

    step: int
    share: float
    more_ns: float


def find_lone_work(table: StepTable) -> LoneWork | None:
    """Without what is told apart. None where the data wait is not known."""
    rows = table.rows
    if len(rows) < 2 or any(row.data_wait_ns is None for row in rows):
        return None
    own = [max(0, row.duration_ns - (row.data_wait_ns or 0) - row.between_ns) for row in rows]
    longest, whole = max(own), sum(own)
    others = (whole - longest) / (len(own) - 1)
    if not whole or longest < LONE_SHARE * whole or longest < LONE_TIMES * others:
        return None
    return LoneWork(rows[own.index(longest)].number, longest / whole, longest - others)
