"""What a stage's time went to: running, waiting for a CPU, or blocked.

A stage's CPU time is measured. What it waited for a CPU of the rest is estimated: from the samples that fall into it,
and where those are few, it is all of it that the threads may have waited for a CPU between the samples around its
calls: blocked is only what was seen so, or what nothing else can have been. Where that leaves both open, neither is
known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_dataplugin.analyses.stage_samples import StageSamples, find_stage_samples
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import ThreadCosts, Trace

StageLimit = Literal["cpu", "no_cpu", "blocked"]

MOST: Final = 2 / 3
"""Share of a stage's self time, from which what takes it is what limits the stage. Below that for each of the three, it
is mixed: shares near a half would give stages that are alike contrary labels."""

TOO_SHORT_NS: Final = 100_000
"""Mean self time of a call below which its CPU time is not judged: each reading is off by up to 40 us."""

LEAST_SAMPLES: Final = 10
"""In a stage, for its share of being blocked."""

LEAST_SEEN: Final = 0.5
"""Share of a stage's time between samples of its thread, from which these stand for all of it."""

OPEN: Final = 0.25
"""Share of a stage's self time that may be either waiting for a CPU or blocked, from which neither is known."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of a stage's self time: `cpu_ns` running (measured), `run_delay_ns` waiting for a CPU and `blocked_ns` blocked
    (both estimated). None: not known. `limited_by` is what takes two thirds of it; None when mixed or unknown.
    """

    cpu_ns: int
    run_delay_ns: int | None
    blocked_ns: int | None
    limited_by: StageLimit | None


@dataclass(frozen=True, slots=True)
class _Held:
    """What a stage may have waited for a CPU, and been blocked, at most; and the share of it in which samples show its
    threads blocked, where there are enough.
    """

    delay_most_ns: float
    blocked_most_ns: float
    blocked: float | None = None


def find_occupancies(
    trace: Trace, window: Window, tree: StageTree, rows: tuple[StageRow, ...], costs: WorkerCosts | None
) -> dict[Path, Occupancy]:
    """Of the stages whose CPU time is known."""
    workers = None if costs is None else _of_workers(costs)
    own = trace.info.pipeline.training_thread if trace.info.pipeline else None
    training = None if own is None else _of_training(own, window)
    mine = tree.track == (-1 if trace.training_track is None else trace.training_track)
    here = {tree.paths[number] for number in np.setdiff1d(tree.node[mine], tree.node[~mine]).tolist()}
    samples = find_stage_samples(trace, tree)
    found: dict[Path, Occupancy] = {}
    for row in rows:
        spent = _occupancy(row, _held(row, training if row.path in here else workers, samples.get(row.path)))
        if spent is not None:
            found[row.path] = spent
    return found


def _of_workers(costs: WorkerCosts) -> _Held | None:
    if costs.run_delay is None or costs.blocked is None:
        return None
    return _Held(costs.run_delay * costs.wall_ns, costs.blocked * costs.wall_ns)


def _of_training(costs: ThreadCosts, window: Window) -> _Held:
    return _Held(costs.run_delay_ns, max(0, window.duration_ns - costs.cpu_ns - costs.run_delay_ns))


def _occupancy(row: StageRow, held: _Held | None) -> Occupancy | None:
    """None for a stage without CPU times, and for a wait, whose self time is not a stage's."""
    if row.cpu_self_ns is None or not row.self_ns or row.stage.kind == "wait":
        return None
    cpu = min(row.cpu_self_ns, row.self_ns)
    run_delay = None if held is None else _run_delay(row.self_ns, cpu, held)
    blocked = None if run_delay is None else row.self_ns - cpu - run_delay
    return Occupancy(cpu, run_delay, blocked, _limit(row, cpu, run_delay, blocked))


def _held(row: StageRow, threads: _Held | None, samples: StageSamples | None) -> _Held | None:
    """`threads`: of the threads that the stage runs in, where these have no samples of it."""
    if threads is None or samples is None or samples.seen_ns < LEAST_SEEN * row.self_ns:
        return threads
    scale = row.self_ns / samples.seen_ns
    blocked = samples.blocked if samples.samples >= LEAST_SAMPLES else None
    return _Held(scale * samples.delay_most_ns, scale * samples.blocked_most_ns, blocked)


def _run_delay(self_ns: int, cpu: int, held: _Held) -> int | None:
    """None where it may be anything."""
    rest = self_ns - cpu
    most = min(rest, held.delay_most_ns)
    least = min(most, max(0.0, rest - held.blocked_most_ns))
    if held.blocked is not None:
        return round(min(max(self_ns * (1 - held.blocked) - cpu, least), most))
    return round(most) if most - least <= OPEN * self_ns else None


def _limit(row: StageRow, cpu: int, run_delay: int | None, blocked: int | None) -> StageLimit | None:
    if row.self_ns < TOO_SHORT_NS * row.count:
        return None
    parts: tuple[tuple[StageLimit, int | None], ...] = (("cpu", cpu), ("no_cpu", run_delay), ("blocked", blocked))
    return next((limit for limit, time in parts if time is not None and time >= MOST * row.self_ns), None)
