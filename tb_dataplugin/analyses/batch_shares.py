"""Waits for batches of DataLoader workers, passed on to what made or held the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import span_name
from tb_dataplugin.analyses.batch_limits import QUEUED_NS, QUEUED_SHARE, BatchLimits, find_batch_limits
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.wait_parts import OTHER, STARTUP, STARVED, TRANSFER, UNRECORDED, WaitParts
from tb_dataplugin.analyses.workers import BatchTimes, Workers, WorkerTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import Trace

SERIALISE, QUEUE, DESERIALISE, PIN = (
    span_name("transfer", part) for part in ("serialise", "queue", "deserialise", "pin")
)

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Received:
    """Batches that were received in waits, by time: row of the batch table, and its part of the wait.

    Where one wait received several, each has the time from the one before it.
    """

    row: Rows
    start: Int64Array
    end: Int64Array

    def take(self, chosen: npt.NDArray[np.bool_]) -> _Received:
        return _Received(self.row[chosen], self.start[chosen], self.end[chosen])


def share_by_batch(trace: Trace, workers: Workers, waits: Intervals, parts: WaitParts) -> Intervals:
    """Passes on the part of `waits` that received a batch with a record; what is left of them."""
    batches = workers.batches
    received = _received(batches)
    limits = find_batch_limits(batches.table)
    rows = {process.pid: track for track, process in trace.worker_tracks().items()}
    pinned = _pinning_loaders(trace)
    for number, times in enumerate(workers.times):
        process = times.process
        mine = (batches.table.pid == process.pid) & (batches.table.loader == process.loader)
        track, his = rows.get(process.pid, -1 - number), received.take(mine[received.row])
        limited = limits.throughput[his.row]
        _share_throughput(his.take(limited), batches, limits, track, waits, parts)
        late = his.take(~limited)
        ready = np.clip(batches.table.finished_ns[late.row], late.start, late.end)
        _share_latency(times, track, Intervals.union(late.start, ready).intersect(waits), parts)
        _share_way(late, ready, batches, process.loader in pinned, waits, parts)
    return waits.minus(Intervals.union(received.start, received.end))


def _pinning_loaders(trace: Trace) -> set[int]:
    """Loaders whose batches go through the thread that pins them: without a device there is none."""
    pipeline = trace.info.pipeline
    if pipeline is None or not (trace.info.devices or trace.device_ids()):
        return set()
    return {number for number, loader in enumerate(pipeline.loaders) if loader.pin_memory}


def _received(batches: BatchTimes) -> _Received:
    table = batches.table
    rows = np.flatnonzero(known(batches.wait_start_ns) & known(table.finished_ns))
    rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
    start, end = batches.wait_start_ns[rows], batches.wait_end_ns[rows]
    follows = start[1:] == start[:-1]
    start[1:][follows] = table.consumed_ns[rows[:-1]][follows]
    end[:-1][follows] = start[1:][follows]
    return _Received(rows, start, end)


def _share_throughput(
    received: _Received,
    batches: BatchTimes,
    limits: BatchLimits,
    track: int,
    waits: Intervals,
    parts: WaitParts,
) -> None:
    """Shares each wait over the deepest spans of the worker since it finished the batch before, by their length.

    A share is a stretch of the wait's own time, in the order of the spans: what lies between the spans is `other`.
    """
    tree, mine = parts.tree, parts.tree.pieces_of_track(track)
    pieces = Intervals(tree.piece_start[mine], tree.piece_end[mine])
    since = _recorded_since(limits.since_ns[received.row], batches.table.finished_ns[received.row], pieces)
    unseen = since >= batches.table.finished_ns[received.row]
    parts.add(UNRECORDED, Intervals.union(received.start[unseen], received.end[unseen]).intersect(waits))
    received, since = received.take(~unseen), since[~unseen]
    finished = batches.table.finished_ns[received.row]
    if not len(received.row):
        return
    batch, piece = pieces.touching(since, finished)
    first = np.maximum(pieces.start[piece], since[batch]) - since[batch]
    last = np.minimum(pieces.end[piece], finished[batch]) - since[batch]
    mine_of_waits = Intervals.union(received.start, received.end).intersect(waits)
    offset = mine_of_waits.covered_before(received.start)
    length = mine_of_waits.covered_before(received.end) - offset
    scale = (length / (finished - since))[batch]  # rounding edges, not lengths, lets the shares sum exactly
    start = offset[batch] + np.rint(first * scale).astype(np.int64)
    end = offset[batch] + np.minimum(np.rint(last * scale).astype(np.int64), length[batch])
    span = tree.piece_span[mine][piece]
    parts.add(OTHER, parts.add_shares(mine_of_waits, start, np.maximum(start, end), span))


def _recorded_since(since: Int64Array, finished: Int64Array, pieces: Intervals) -> Int64Array:
    """From when on the worker's stages are in the trace: what it did before the recording began is not time between
    stages. At most `finished`.
    """
    if not len(pieces):
        return since
    first = int(pieces.start[0])
    before = first - since > np.maximum(QUEUED_NS, QUEUED_SHARE * (finished - since))
    return np.where(before, np.minimum(first, finished), since)


def _share_latency(times: WorkerTimes, track: int, waits: Intervals, parts: WaitParts) -> None:
    """Divides waits for a batch in the making by what its worker was in."""
    rest = parts.add_stages(track, waits)
    if not len(rest):
        return
    startup = rest.minus(Intervals.union([times.process.started_ns], [int(rest.end[-1])]))
    starved = rest.minus(startup).minus(times.outstanding)
    parts.add(STARTUP, startup)
    parts.add(STARVED, starved)
    parts.add(OTHER, rest.minus(startup).minus(starved))


def _share_way(
    received: _Received, ready: Int64Array, batches: BatchTimes, pins: bool, waits: Intervals, parts: WaitParts
) -> None:
    """Divides waits for finished batches by where the batch was, as far as its moments are recorded."""
    table, end = batches.table, received.end
    columns = (table.finished_ns, table.serialise_ns, table.serialised_ns, table.deserialise_ns, table.arrived_ns)
    moments = np.stack([*(column[received.row] for column in columns), end])
    has = known(moments)
    reached = np.clip(np.maximum.accumulate(np.where(has, moments, ready), axis=0), ready, end)
    names = (QUEUE, SERIALISE, QUEUE, DESERIALISE, PIN if pins else TRANSFER)
    way = Intervals.union(ready, end).intersect(waits)
    split: list[Intervals] = []
    for number, name in enumerate(names):
        both = has[number] & has[number + 1]
        split.append(Intervals.union(reached[number][both], reached[number + 1][both]).intersect(way))
        parts.add(name, split[-1])
    parts.add(TRANSFER, way.minus(Intervals.union_of(split)))
