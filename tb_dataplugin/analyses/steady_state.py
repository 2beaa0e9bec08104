"""Whether the window shows the loop as it goes on, and what its data wait is then.

A queue of finished batches that is full when the window opens hides a slow loader until it is empty; one that fills up
makes a fast loader look slow. The window is *steady* where the mean number of finished batches in its first and in its
last third differ by less than one, and no epoch starts in it.

Else the steady state is estimated. The DataLoader workers build `capacity` batches per second while they are busy (each
worker's batches over its busy time, summed over the workers by their lifetimes; of workers that take turns and are not
alike, each as many as the slowest), and without any data wait the loop takes `own` per step: so the data wait per step
is ``max(0, batches per step / capacity - own)``. A queue that drains hides data wait and one that fills adds some, so
the estimate is at least, or at most, what was measured. Of one that fills, the time counts as well in which workers are
idle: batches that differ leave them without an index at times, and the loop without a batch at others. Whether a fuller
queue smooths that out is not known, so the interval reaches down to the estimate without it.

Where an epoch starts in the window, its start is left out, as it is told `apart`: what the other steps wait is the
estimate.

A second loader's epoch that begins in between (a validation set inside a step) is no epoch's start of the first one,
unless the loop takes its batches as well (a short set that is cycled beside a long one). The waits for its batches are
not the first one's: to that one's queue they are the step's own time, which no share is of. So are pauses for a
collection of garbage. Where a thread feeds the loop through a queue of the user's, that queue counts as well
(`fed_queue`), and a thread that makes batches itself is what a worker is.

The interval is from resampling blocks of steps, and of each worker's batches (Kunsch's moving blocks, circular).
Workers finish in rounds, and the loop waits in rounds: what is estimated from the waits alone takes some of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.fed_queue import FedQueue
from tb_dataplugin.analyses.flow import Flow
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.pace import means_apart
from tb_dataplugin.analyses.resampling import Estimate, Floats, blocks, interval, thinned, with_resamples
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.workers import BatchTimes, WorkerRow, Workers
from tb_dataplugin.model.intervals import Intervals, Window, int64
from tb_dataplugin.model.trace import BatchTable

State = Literal["steady", "draining", "filling", "epoch_start"]

SAME_QUEUE: Final = 1.0
"""Finished batches by which the thirds of a steady window differ less: a batch is what a queue changes by anyway."""

SAME: Final = 0.01
"""Relative difference of two shares, up to which they may look alike where three digits are shown."""

LEAST_STEPS: Final = 8
"""Fewer steps do not show by how much steps differ."""

LEAST_ROUNDS: Final = 4
"""Fewer rounds of workers do not show by how much rounds differ: the loop may wait for one batch of each only."""

LEAST_BATCHES: Final = 4
"""The same of batches."""

ENOUGH_BATCHES: Final = 8
"""Batches of a worker in the window, below which those from before it count as well: few batches are chance."""

MOST_VALUES: Final = 1000
"""More steps, or batches of a worker, are resampled as so many stretches of successive ones: memory has a bound."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """`measured_ns` and `wait` are data wait per step, shares are of the step. None: not known.

    `ready_first`, `ready_last`: mean number of finished batches in the window's first and last third; at its start and
    end where another thread feeds the loop (`fed`), whose queue is known only by what went in and out.
    """

    state: State
    measured_ns: float
    measured_share: float
    wait: Estimate | None
    share: Estimate | None
    capacity_per_s: float | None
    own_step_ns: float
    ready_first: float
    ready_last: float
    fed: bool = False

    @property
    def is_as_measured(self) -> bool:
        """The estimate is what was measured, to the digits that are shown."""
        return self.share is not None and abs(self.share.value - self.measured_share) <= SAME * self.measured_share


@dataclass(frozen=True, slots=True)
class _Supply:
    """Batches on their way to the loop: how many were finished first and last, whether an epoch begins, how many came,
    and per maker how long its batches took (ns) and the share of the window in which it was alive. `ahead`: how many
    times as many batches they would build as they deliver, where they take turns and the slowest sets the pace.
    """

    first: float
    last: float
    epoch_begins: bool
    received: int
    builds: list[Floats]
    alive: Floats
    ahead: float = 1.0


def find_steady_state(
    steps: StepTable | None,
    workers: Workers | None,
    flow: Flow,
    window: Window,
    use: LoaderUse,
    apart: Apart,
    fed: FedQueue | None = None,
) -> SteadyState | None:
    """Of the training loop's loader; None without steps, data wait, or records of who makes batches."""
    if steps is None or not window.duration_ns or any(row.data_wait_ns is None for row in steps.rows):
        return None
    supply = _supply(workers, flow, window, use.in_workers, fed, bool(apart.epochs))
    if supply is None:
        return None
    state = _state(supply)
    duration = np.array([row.duration_ns for row in steps.rows], dtype=np.float64)
    for_others = Intervals.union_of((apart.not_mine, apart.between))
    theirs = _overlap(steps, for_others)
    waits = np.array([row.data_wait_ns or 0 for row in steps.rows], dtype=np.float64)
    waited = np.maximum(0, waits - _overlap(steps, apart.not_mine))
    own = np.maximum(0, duration - theirs - waited)
    measured, rest = float(waited.mean()), float(own.mean())
    enough = len(own) >= LEAST_STEPS and sum(map(len, supply.builds)) >= LEAST_BATCHES
    enough &= state in ("draining", "filling") or supply.received >= LEAST_ROUNDS * len(supply.builds)
    found: tuple[Estimate, Estimate] | None = None
    if enough and state == "epoch_start":
        found = _between_starts(own, waited, _overlap(steps, apart.starts), len(apart.epochs))
    elif enough:
        has_rows = workers is not None and fed is None
        used = _built_in(workers, use.in_workers, for_others, steps) if workers and has_rows else theirs
        idle = _idle(workers, use.in_workers, for_others, steps) if workers and has_rows else np.zeros(len(own))
        beside = _overlap(steps, use.elsewhere.minus(apart.not_mine))
        found = _estimate(state, _PerStep(own, waited, used, beside, idle), supply)
    return SteadyState(
        state=state,
        measured_ns=measured,
        measured_share=measured / (measured + rest) if measured + rest else 0.0,
        wait=found[0] if found else None,
        share=found[1] if found else None,
        capacity_per_s=_capacity([each.mean(keepdims=True) for each in supply.builds], supply)[0] * 1e9
        if all(map(len, supply.builds))
        else None,
        own_step_ns=rest,
        ready_first=supply.first,
        ready_last=supply.last,
        fed=fed is not None,
    )


def _built_in(workers: Workers, loader: int, times: Intervals, steps: StepTable) -> Floats:
    """Per step, how much of these times a DataLoader worker builds, on average: until the queue is full."""
    rows = [Intervals.union_of(each.busy for each in row.processes) for row in workers.rows if row.loader == loader]
    mean: Floats = np.mean([_overlap(steps, busy.intersect(times)) for busy in rows], axis=0)
    return mean


def _idle(workers: Workers, loader: int, others: Intervals, steps: StepTable) -> Floats:
    """Per step, how long a DataLoader worker is idle, on average, outside of those times."""
    rows = [Intervals.union_of(each.idle for each in row.processes) for row in workers.rows if row.loader == loader]
    mean: Floats = np.mean([_overlap(steps, idle.minus(others)) for idle in rows], axis=0)
    return mean


def _supply(
    workers: Workers | None, flow: Flow, window: Window, loader: int, fed: FedQueue | None, begins: bool
) -> _Supply | None:
    """None without records of who makes batches. `begins`: starts of epochs, its own or those of another loader of the
    loop, are told apart.
    """
    if workers is None or not len(workers.batches.table):
        if fed is None or not fed.builds:
            return None
        return _Supply(fed.ready_first, fed.ready_last, begins, fed.taken, [*fed.builds], np.ones(len(fed.builds)))
    table = workers.batches.table
    rows = [row for row in workers.rows if row.loader == loader]
    others = _waits_for_others(workers.batches, loader)
    starts = any(not others.overlap(start.wait.start, start.wait.end).any() for start in flow.epoch_starts)
    epoch_begins = begins or starts or _epoch_begins(table, loader, window)
    builds, alive = _build_times(table, rows, window), _alive(rows, window)
    take_turns = _in_turn if workers.take_turns(loader) else lambda supply: supply
    if fed is not None:
        return take_turns(_Supply(fed.ready_first, fed.ready_last, epoch_begins, fed.taken, builds, alive))
    third = window.duration_ns // 3
    first = _mean_ready(table, loader, Window(window.start_ns, window.start_ns + third), window)
    last = _mean_ready(table, loader, Window(window.end_ns - third, window.end_ns), window)
    return take_turns(_Supply(first, last, epoch_begins, _received(table, loader, window), builds, alive))


def _waits_for_others(batches: BatchTimes, loader: int) -> Intervals:
    """Waits that received a batch of another loader's workers."""
    rows = known(batches.wait_start_ns) & (batches.table.loader != loader)
    return Intervals.union(batches.wait_start_ns[rows], batches.wait_end_ns[rows])


def _mean_ready(table: BatchTable, loader: int, part: Window, window: Window) -> float:
    """Mean number of batches in that part that were finished and not yet received."""
    mine = (table.loader == loader) & known(table.finished_ns)
    end = np.where(known(table.consumed_ns[mine]), table.consumed_ns[mine], window.end_ns)
    lasts = np.minimum(end, part.end_ns) - np.maximum(table.finished_ns[mine], part.start_ns)
    return float(np.maximum(lasts, 0).sum() / part.duration_ns) if part.duration_ns else 0.0


def _state(supply: _Supply) -> State:
    if supply.epoch_begins:
        return "epoch_start"
    if abs(supply.first - supply.last) < SAME_QUEUE:
        return "steady"
    return "draining" if supply.first > supply.last else "filling"


def _epoch_begins(table: BatchTable, loader: int, window: Window) -> bool:
    begins = (table.loader == loader) & (table.number == 0)
    drawn = table.drawn_ns[begins]
    return bool(((drawn > window.start_ns) & (drawn < window.end_ns)).any())


def _build_times(table: BatchTable, rows: list[WorkerRow], window: Window) -> list[Floats]:
    """Per worker, how long each batch took: those of the window, and those from before it where they are too few."""
    finished = known(table.started_ns) & known(table.finished_ns) & (table.finished_ns > table.started_ns)
    inside = finished & (table.finished_ns > window.start_ns)
    chosen = []
    for row in rows:
        mine = (table.loader == row.loader) & (table.worker == row.worker)
        use = mine & inside if (mine & inside).sum() >= ENOUGH_BATCHES else mine & finished
        chosen.append((table.finished_ns - table.started_ns)[use].astype(np.float64))
    return chosen


def _alive(rows: list[WorkerRow], window: Window) -> Floats:
    """Per worker, the share of the window in which it was alive."""
    return np.array([row.alive_ns / window.duration_ns for row in rows], dtype=np.float64)


def _received(table: BatchTable, loader: int, window: Window) -> int:
    taken = (table.consumed_ns >= window.start_ns) & (table.consumed_ns <= window.end_ns)
    return int((taken & (table.loader == loader)).sum())


def _in_turn(supply: _Supply) -> _Supply:
    """Whose makers are DataLoader workers that take turns."""
    slowest = means_apart(supply.builds) if all(map(len, supply.builds)) else None
    if slowest is None or not supply.alive.any():
        return supply
    built = _capacity([each.mean(keepdims=True) for each in supply.builds], supply)[0]
    return replace(supply, ahead=max(1.0, float(built * slowest.max() / supply.alive.sum())))


def _capacity(means: list[Floats], supply: _Supply) -> Floats:
    """Batches per ns of all workers; a worker without batches counts as the mean of the others."""
    alive = supply.alive
    rates = [alive_share / mean for mean, alive_share in zip(means, alive.tolist(), strict=True) if len(mean)]
    unseen = float(alive[[not len(mean) for mean in means]].sum())
    seen = float(alive.sum()) - unseen
    total: Floats = np.sum(rates, axis=0)
    return total * (1 + unseen / seen if seen else 1.0) / supply.ahead


def _overlap(steps: StepTable, waits: Intervals) -> Floats:
    """Per step, how long these waits are."""
    begin = int64([row.start_ns for row in steps.rows])
    return waits.overlap(begin, begin + int64([row.duration_ns for row in steps.rows])).astype(np.float64)


def _between_starts(own: Floats, waited: Floats, starts: Floats, epochs: int) -> tuple[Estimate, Estimate] | None:
    """Data wait per step and its share, without the starts of epochs. Blocks are about an epoch long. None where the
    other steps are too few.
    """
    if (starts == 0).sum() < LEAST_STEPS:
        return None
    own, waited = thinned(own, MOST_VALUES), thinned(np.maximum(waited - starts, 0), MOST_VALUES)
    steps = blocks(np.random.default_rng(0), len(own), period=len(own) // max(1, epochs))
    wait, rest = with_resamples(waited, steps), with_resamples(own, steps)
    return interval(wait), interval(_share(wait, rest))


@dataclass(frozen=True, slots=True)
class _PerStep:
    """Time per step: of the loop itself, of data wait, for others while the loop's workers built, what `waited` has of
    such waits, and in which a worker is idle, on average.
    """

    own: Floats
    waited: Floats
    theirs: Floats
    beside: Floats
    idle: Floats


def _estimate(state: State, per: _PerStep, supply: _Supply) -> tuple[Estimate, Estimate]:
    """Data wait per step and its share; first as found, then of resampled steps and batches."""
    random, per_step = np.random.default_rng(0), supply.received / len(per.own)
    columns = (per.own, per.waited, per.theirs, per.beside, per.idle)
    own, waited, theirs, beside, idle = (thinned(each, MOST_VALUES) for each in columns)
    builds = [thinned(each, MOST_VALUES) for each in supply.builds]
    steps = blocks(random, len(own), period=len(builds))
    means = [with_resamples(each, blocks(random, len(each))) if len(each) else each for each in builds]
    columns = (own, waited, theirs, beside, idle)
    rest, measured, others, second, unused = (with_resamples(each, steps) for each in columns)
    if state == "steady":
        return interval(measured), interval(_share(measured, rest))
    needed = per_step / _capacity(means, supply) - rest - others
    if state == "draining":
        wait = np.maximum(needed, measured)
        return interval(wait), interval(_share(wait, rest))
    least, wait = (np.clip(each, second, measured) for each in (needed, needed + unused))
    return _down_to(interval(least), interval(wait)), _down_to(
        interval(_share(least, rest)), interval(_share(wait, rest))
    )


def _down_to(least: Estimate, found: Estimate) -> Estimate:
    return replace(found, low=min(least.low, found.low))


def _share(wait: Floats, rest: Floats) -> Floats:
    """Of the step: `rest` is the other part of it."""
    part: Floats = wait / np.maximum(wait + rest, 1)
    return part
