"""What of one rank's capture is joined with the others': some kilobytes, whatever the size of the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.collectives import Collectives, find_collectives
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_table import StepRow
from tb_dataplugin.analyses.steps import find_steps, has_numbers
from tb_dataplugin.analyses.wait_shares import share_out
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, int64
from tb_dataplugin.model.thread_samples import SampledThread
from tb_dataplugin.model.trace import ProcessGroup, Trace
from tb_dataplugin.ranks.indices import Indices, read_indices
from tb_dataplugin.reader.collectives import is_collective

COMPUTE: Final = "compute"
HOST: Final = "host"
UNKNOWN_STAGE: Final = "data wait"
"""Data wait of a capture without stages."""

LEAST_SEEN: Final = 10
"""Samples of a thread; fewer show nothing."""

NO_INT64: Final[Int64Array] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RankTable:
    """One rank's capture. Times in ns on the trace's clock; `origin_unix_ns` is that clock's 0 on its machine's.

    `spent_at_arrival`, `spent_at_end`: per collective (rows) and part (columns, named by `parts`), how much of the
    part's time lies before its arrival and before its end: differences say what a stretch between collectives went to.
    Parts are the data wait by stage, and computing; what is in none of them is the host's own time.
    `stage_mean_ns`: mean time of a span, by stage name. `lock_share`: of the window, in which the training thread
    waited for Python's lock; None where that was not recorded. `step_exposed_ns`: per step, data wait with an idle
    first device; None without one.
    """

    rank: int
    world_size: int | None
    host: str
    capture: str
    origin_unix_ns: int
    has_numbered_steps: bool
    groups: tuple[ProcessGroup, ...]
    step_number: Int64Array
    step_start_ns: Int64Array
    step_end_ns: Int64Array
    step_wait_ns: Int64Array | None
    collectives: Collectives
    parts: tuple[str, ...]
    spent_at_arrival: Int64Array
    spent_at_end: Int64Array
    stage_mean_ns: Mapping[str, float] = field(default_factory=dict)
    indices: Indices | None = None
    lock_share: float | None = None
    step_exposed_ns: Int64Array | None = None


def tabulate_rank(results: Results) -> RankTable | Unavailable:
    """Unavailable for a capture that does not say its rank, that trains nothing, or that has no collectives."""
    trace, info = results.trace, results.trace.info
    if info.mode == "replay":
        return Unavailable("capture", "replay", "it is a replay, which has no other ranks")
    if info.rank is None:
        return Unavailable(
            "capture",
            "no_rank",
            "it says no rank: a run of one process has no others; else start the profiler after init_process_group",
        )
    steps = find_steps(trace)
    numbered = not isinstance(steps, Unavailable) and has_numbers(trace)
    collectives = find_collectives(trace, steps if numbered and not isinstance(steps, Unavailable) else None)
    if isinstance(collectives, Unavailable):
        return collectives
    thread = _training_thread(results)
    locked = _waits_for_lock(thread)
    sets = _parts(results, Intervals.union_of([_waits_for_cpu(thread), EMPTY if locked is None else locked]))
    rows = results.steps.rows if results.steps else ()
    waits = [row.data_wait_ns for row in rows]
    known_waits = [wait for wait in waits if wait is not None]
    return RankTable(
        rank=info.rank,
        world_size=info.world_size,
        host=info.host,
        capture=info.name,
        origin_unix_ns=info.origin_unix_ns,
        has_numbered_steps=numbered,
        groups=info.groups,
        step_number=_column([row.number for row in rows]),
        step_start_ns=_column([row.start_ns for row in rows]),
        step_end_ns=_column([row.start_ns + row.duration_ns for row in rows]),
        step_wait_ns=_column(known_waits) if len(known_waits) == len(waits) else None,
        collectives=collectives,
        parts=tuple(sets),
        spent_at_arrival=_spent(sets, collectives.arrival_ns),
        spent_at_end=_spent(sets, collectives.end_ns),
        stage_mean_ns=_stage_means(results),
        indices=read_indices(results, results.use.by_name),
        lock_share=None if locked is None else locked.clip(results.window).total_ns / results.window.duration_ns,
        step_exposed_ns=_exposed(results, rows),
    )


def _exposed(results: Results, rows: Sequence[StepRow]) -> Int64Array | None:
    exposed = None if results.loader is None else results.loader.exposed
    if exposed is None:
        return None
    start, length = _column([row.start_ns for row in rows]), _column([row.duration_ns for row in rows])
    return exposed.covered_before(start + length) - exposed.covered_before(start)


def _column(values: list[int]) -> Int64Array:
    return int64(values) if values else NO_INT64


def _spent(sets: Mapping[str, Intervals], times: Int64Array) -> Int64Array:
    columns = [time.covered_before(times) for time in sets.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(times), 0), dtype=np.int64)


def _training_thread(results: Results) -> SampledThread | None:
    """As it was looked at; None where that shows nothing."""
    pipeline = results.trace.info.pipeline
    thread = pipeline.thread_samples.training if pipeline and pipeline.thread_samples else None
    return None if thread is None or len(thread.time_ns) < LEAST_SEEN else thread


def _edges(thread: SampledThread) -> Int64Array:
    """Each sample stands for the time from half-way to the one before until half-way to the next."""
    middle = (thread.time_ns[1:] + thread.time_ns[:-1]) // 2
    return np.concatenate((thread.time_ns[:1], middle, thread.time_ns[-1:]))


def _waits_for_lock(thread: SampledThread | None) -> Intervals | None:
    """When the training thread was seen to wait for Python's lock."""
    if thread is None or not thread.lock_known:
        return None
    edges, waits = _edges(thread), np.flatnonzero(thread.waits_for_lock)
    return Intervals.union(edges[waits], edges[waits + 1])


def _waits_for_cpu(thread: SampledThread | None) -> Intervals:
    """When it was ready to run and had no CPU, which comes before it runs."""
    if thread is None:
        return EMPTY
    edges = _edges(thread)
    ready = np.flatnonzero(thread.is_running & (thread.delayed > 0))
    length = ((edges[ready + 1] - edges[ready]) * thread.delayed[ready]).astype(np.int64)
    return Intervals.union(edges[ready], edges[ready] + length)


def _parts(results: Results, kept: Intervals) -> dict[str, Intervals]:
    """Disjoint sets of time by what the training thread was at.

    Args:
        kept: from doing any of it, by Python's lock or for want of a CPU: this is the host's, whatever was to be done
            next.
    """
    waits = EMPTY if results.loader is None else results.loader.waits
    shares = share_out(results.trace, results.tree, waits, results.workers)
    known: dict[str, Intervals] = {}
    if len(waits):
        known = {UNKNOWN_STAGE: waits} if isinstance(shares, Unavailable) else dict(shares.by_stage)
    computing = _computing(results.trace).minus(waits)
    return {name: time.minus(kept) for name, time in {**known, COMPUTE: computing}.items()}


def _computing(trace: Trace) -> Intervals:
    """Operators of the training process, and work on devices; collectives are neither."""
    events, training = trace.events, trace.training_track
    apart: npt.NDArray[np.bool_] = np.array([is_collective(name) for name in trace.names], dtype=np.bool_)
    process = None if training is None else trace.tracks[training].pid
    is_own = np.array([track.pid == process for track in trace.tracks], dtype=np.bool_)
    host = events.is_category(Category.CPU_OP)
    chosen = events.is_category(*DEVICE_ACTIVITY)
    if len(events):
        chosen |= host & is_own[events.track]
        chosen &= ~apart[events.name]
        chosen[trace.stage_spans.row] = False
    rows = np.flatnonzero(chosen)
    return Intervals.union(events.start_ns[rows], events.end_ns[rows])


def _stage_means(results: Results) -> dict[str, float]:
    total: dict[str, list[int]] = {}
    for row in results.stages:
        sums = total.setdefault(row.path[-1].name, [0, 0])
        sums[0] += row.total_ns
        sums[1] += row.count
    return {name: spent / count for name, (spent, count) in total.items() if count}
