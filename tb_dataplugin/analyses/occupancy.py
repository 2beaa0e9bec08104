"""What a stage's time went to: running, waiting for a CPU, or blocked.

A stage's CPU time is measured. How long its thread waited for a CPU is measured per batch (workers) or window
(training thread) only; it is shared out by CPU time, since a thread queues for a CPU as often as it uses one up. What
remains is blocked: waiting for storage, a lock, or another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.model.trace import Trace

StageLimit = Literal["cpu", "no_cpu", "blocked"]

MOST: Final = 2 / 3
"""Share of a stage's self time, from which what takes it is what limits the stage. Below that for each of the three, it
is mixed: shares near a half would give stages that are alike contrary labels."""

TOO_SHORT_NS: Final = 100_000
"""Mean self time of a call below which its CPU time is not judged: each reading is off by up to 40 us."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of a stage's self time: `cpu_ns` running (measured), `run_delay_ns` waiting for a CPU and `blocked_ns` blocked
    (both estimated). None: not known. `limited_by` is what takes two thirds of it; None when mixed or unknown.
    """

    cpu_ns: int
    run_delay_ns: int | None
    blocked_ns: int | None
    limited_by: StageLimit | None


def find_occupancies(
    trace: Trace, tree: StageTree, rows: tuple[StageRow, ...], costs: WorkerCosts | None
) -> dict[Path, Occupancy]:
    """Of the stages whose CPU time is known."""
    workers = None if costs is None else costs.delay_per_cpu
    own = trace.info.pipeline.training_thread if trace.info.pipeline else None
    training = None if own is None else own.delay_per_cpu
    mine = tree.track == (-1 if trace.training_track is None else trace.training_track)
    here = {tree.paths[number] for number in np.setdiff1d(tree.node[mine], tree.node[~mine]).tolist()}
    occupancies = {row.path: find_occupancy(row, training if row.path in here else workers) for row in rows}
    return {path: spent for path, spent in occupancies.items() if spent is not None}


def find_occupancy(row: StageRow, delay_per_cpu: float | None) -> Occupancy | None:
    """None for a stage without CPU times, and for a wait, whose self time is not a stage's.

    `delay_per_cpu`: time waiting for a CPU for each of running, None when not known.
    """
    if row.cpu_self_ns is None or not row.self_ns or row.stage.kind == "wait":
        return None
    cpu = min(row.cpu_self_ns, row.self_ns)
    rest = row.self_ns - cpu
    run_delay = blocked = None
    if delay_per_cpu is not None:
        run_delay = min(rest, round(cpu * delay_per_cpu))
        blocked = rest - run_delay
    return Occupancy(cpu, run_delay, blocked, _limit(row, cpu, run_delay, blocked))


def _limit(row: StageRow, cpu: int, run_delay: int | None, blocked: int | None) -> StageLimit | None:
    if row.self_ns < TOO_SHORT_NS * row.count:
        return None
    parts: tuple[tuple[StageLimit, int | None], ...] = (("cpu", cpu), ("no_cpu", run_delay), ("blocked", blocked))
    return next((limit for limit, time in parts if time is not None and time >= MOST * row.self_ns), None)
