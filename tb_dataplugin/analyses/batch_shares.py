"""Waits for batches of DataLoader workers, passed on to what made or held the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.batch_limits import BatchLimits, find_batch_limits
from tb_dataplugin.analyses.cpu_shortage import CpuShortage, find_cpu_shortage
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.proportional import (
    DESERIALISE,
    INDEX,
    Received,
    begun_ns,
    is_built_late,
    share_cycles,
    share_paths,
    way_of,
)
from tb_dataplugin.analyses.receiving import Deserialised, Receiving, find_receiving
from tb_dataplugin.analyses.wait_parts import OTHER, STARTUP, STARVED, TRANSFER, WaitParts
from tb_dataplugin.analyses.workers import BatchTimes, Workers, WorkerTimes
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals
from tb_dataplugin.model.trace import BatchTable, Trace


def share_by_batch(trace: Trace, workers: Workers, waits: Intervals, parts: WaitParts) -> Intervals:
    """Passes on the part of `waits` that received a batch with a record; what is left of them."""
    batches = workers.batches
    received = received_in_turn(batches)
    limits = find_batch_limits(batches.table)
    paced = paced_by_workers(batches, limits)
    rows = {process.pid: track for track, process in trace.worker_tracks().items()}
    pinned, shortage = pinning_loaders(trace), find_cpu_shortage(trace, parts.tree)
    receiving = find_receiving(trace, parts.tree)
    for number, times in enumerate(workers.times):
        process = times.process
        mine = (batches.table.pid == process.pid) & (batches.table.loader == process.loader)
        track, his = rows.get(process.pid, -1 - number), received.take(mine[received.row])
        limited = paced[his.row]
        share_cycles(his.take(limited), batches.table, limits.since_ns, track, waits, receiving, parts)
        late, pins = his.take(~limited), process.loader in pinned
        built_late = is_built_late(late, batches.table, track, parts)
        share_paths(late.take(built_late), times, batches.table, pins, track, waits, parts)
        late = late.take(~built_late)
        ready = np.clip(batches.table.finished_ns[late.row], late.start, late.end)
        making = Intervals.union(late.start, ready).intersect(waits)
        _share_latency(times, batches.table, track, making, parts)
        way = _Way(track, pins, shortage, receiving)
        _share_way(late, ready, batches.table, way, waits, parts)
    return waits.minus(Intervals.union(received.start, received.end))


def paced_by_workers(batches: BatchTimes, limits: BatchLimits) -> npt.NDArray[np.bool_]:
    """Per row, whether faster building would shorten the wait for that batch, or one behind it.

    Of a batch that had been sent when it was asked for, only where the loop waits for one behind it, of the same epoch,
    that was not: without the first wait, that one would be longer. Else workers were ahead until the window's end.
    """
    table = batches.table
    rows = np.flatnonzero(known(batches.wait_start_ns))
    rows = rows[np.lexsort((-table.consumed_ns[rows], table.epoch[rows], table.loader[rows]))]  # the last first
    ready = known(table.serialised_ns[rows]) & (table.serialised_ns[rows] <= batches.wait_start_ns[rows])
    late = limits.throughput[rows] & ~ready
    is_new = (np.diff(table.loader[rows]) != 0) | (np.diff(table.epoch[rows]) != 0)
    begins = np.concatenate(([True], is_new))[: len(rows)]
    before: Int64Array = np.cumsum(late, dtype=np.int64) - late  # late ones that come behind it
    of_others = np.maximum.accumulate(np.where(begins, before, 0))
    paced: npt.NDArray[np.bool_] = limits.throughput.copy()
    paced[rows] &= ~ready | (before > of_others)
    return paced


def pinning_loaders(trace: Trace) -> set[int]:
    """Loaders whose batches go through the thread that pins them: without a device there is none."""
    pipeline = trace.info.pipeline
    if pipeline is None or not (trace.info.devices or trace.device_ids()):
        return set()
    return {number for number, loader in enumerate(pipeline.loaders) if loader.pin_memory}


def received_in_turn(batches: BatchTimes) -> Received:
    """Batches with a record; of several that one wait has, each from when the one before was handed out."""
    table = batches.table
    rows = np.flatnonzero(known(batches.wait_start_ns) & known(table.finished_ns))
    rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
    start, end = batches.wait_start_ns[rows], batches.wait_end_ns[rows]
    follows = start[1:] == start[:-1]
    start[1:][follows] = table.consumed_ns[rows[:-1]][follows]
    end[:-1][follows] = start[1:][follows]
    return Received(rows, start, end)


def _share_latency(times: WorkerTimes, table: BatchTable, track: int, waits: Intervals, parts: WaitParts) -> None:
    """Divides waits for a batch in the making by what its worker was in; with an index it had none of, by its way."""
    rest = parts.add_stages(track, waits)
    if not len(rest):
        return
    startup = rest.minus(Intervals.union([begun_ns(times, table)], [int(rest.end[-1])]))
    rest = rest.minus(startup)
    starved = rest.minus(times.outstanding)
    rest = rest.minus(starved)
    between = rest.intersect(times.busy)
    for name, time in ((STARTUP, startup), (STARVED, starved), (INDEX, rest.minus(between)), (OTHER, between)):
        parts.add(name, time)


@dataclass(frozen=True, slots=True)
class _Way:
    """How batches come from a DataLoader worker, by its row of the trace."""

    track: int
    pins: bool
    shortage: CpuShortage | None
    receiving: Receiving


def _share_way(
    received: Received, ready: Int64Array, table: BatchTable, by: _Way, waits: Intervals, parts: WaitParts
) -> None:
    """Divides waits for finished batches by where the batch was, as far as its moments are recorded."""
    way = Intervals.union(ready, received.end).intersect(waits)
    cpu = by.receiving.cpu_in(received.start, received.end)
    named = EMPTY
    for name, start, end, has in way_of(received, ready, table, by.pins):
        time = Intervals.union(start[has], end[has]).intersect(way)
        named = Intervals.union_of((named, time))
        if name == DESERIALISE and not by.pins:
            moments = Deserialised(start[has], end[has], cpu[has])
            time = by.receiving.pass_on(time, moments, by.track, parts)
        _add_or_pass_on(name, time, by.shortage, parts)
    _add_or_pass_on(TRANSFER, way.minus(named), by.shortage, parts)


def _add_or_pass_on(name: str, time: Intervals, shortage: CpuShortage | None, parts: WaitParts) -> None:
    parts.add(name, time if shortage is None else shortage.pass_on(time, parts))
