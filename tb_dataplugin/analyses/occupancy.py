"""What a stage's time in the workers went to: running, wanting a core, or waiting for something else.

A stage's CPU time is measured. How long a worker wanted a core is measured per batch only; it is shared out by CPU
time, since a thread queues for a core as often as it uses one up. What remains is waiting for storage, a lock, or
another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.diagnostics import Unavailable

Limit = Literal["cpu", "starved", "blocked"]

RUNNING: Final = 0.8
"""Share of a stage's time on a core from which it is limited by its own computing: what remains to be gained elsewhere
is less than what one reading of CPU time in five may be off."""

TOO_SHORT_NS: Final = 100_000
"""Mean self time of a call below which its CPU time is not judged: each reading is off by up to 40 us."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of a stage's self time: `cpu_ns` running (measured), `starved_ns` without a core and `blocked_ns` waiting (shared
    out). None: not known. `limited_by` is what takes most; None when that cannot be told.
    """

    cpu_ns: int
    starved_ns: int | None
    blocked_ns: int | None
    limited_by: Limit | None


def find_occupancy(row: StageRow, costs: WorkerCosts | Unavailable) -> Occupancy | None:
    """None for a stage without CPU times, as in the training process."""
    if row.cpu_self_ns is None or not row.self_ns:
        return None
    cpu = min(row.cpu_self_ns, row.self_ns)
    rest = row.self_ns - cpu
    starved = blocked = None
    if not isinstance(costs, Unavailable) and costs.run_delay is not None and costs.cpu:
        starved = min(rest, round(cpu * costs.run_delay / costs.cpu))
        blocked = rest - starved
    return Occupancy(cpu, starved, blocked, _limit(row, cpu, starved, blocked))


def _limit(row: StageRow, cpu: int, starved: int | None, blocked: int | None) -> Limit | None:
    if row.self_ns < TOO_SHORT_NS * row.count:
        return None
    if cpu >= RUNNING * row.self_ns:
        return "cpu"
    if starved is None or blocked is None:
        return None
    return "starved" if starved >= blocked else "blocked"
