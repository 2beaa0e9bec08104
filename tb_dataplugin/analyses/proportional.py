"""Waits that are cut in proportion to what a batch, or its DataLoader worker, spent its time on.

Where the throughput of a worker limits, that is the worker's *cycle*: what it did since it finished the batch before.
Where the latency of a batch limits that was still being built when the wait began, it is the batch's *path*: all that
it went through since its index was drawn. The part of a path that lies before the wait made the batch as late as the
part that the wait saw: without 1 ms of either, it would have come 1 ms earlier.

A share is a stretch of the wait's own time, in the order of the cycle or path: what lies between its pieces is `other`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import span_name
from tb_dataplugin.analyses.batch_limits import QUEUED_NS, QUEUED_SHARE
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.receiving import Receiving
from tb_dataplugin.analyses.sending import Cycles, Sending, transfer_share
from tb_dataplugin.analyses.wait_parts import OTHER, STARTUP, TRANSFER, UNRECORDED, WaitParts
from tb_dataplugin.analyses.workers import WorkerTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import BatchTable

SERIALISE, QUEUE, DESERIALISE, PIN, INDEX = (
    span_name("transfer", part) for part in ("serialise", "queue", "deserialise", "pin", "index")
)
"""INDEX: the indices of a batch on their way to its worker, and the worker's turn from one batch to the next."""

Rows = npt.NDArray[np.intp]
Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Received:
    """Batches that were received in waits, by time: row of the batch table, and its part of the wait.

    Where one wait received several, each has the time from the one before it.
    """

    row: Rows
    start: Int64Array
    end: Int64Array

    def take(self, chosen: Chosen) -> Received:
        return Received(self.row[chosen], self.start[chosen], self.end[chosen])


@dataclass(frozen=True, slots=True)
class _Scale:
    """The time from `since` to `until` of each batch, laid over its wait. `time` is what the waits have of all."""

    time: Intervals
    since: Int64Array
    offset: Int64Array
    length: Int64Array
    factor: npt.NDArray[np.float64]

    @staticmethod
    def of(received: Received, since: Int64Array, until: Int64Array, waits: Intervals) -> _Scale:
        time = Intervals.union(received.start, received.end).intersect(waits)
        offset = time.covered_before(received.start)
        length = time.covered_before(received.end) - offset
        return _Scale(time, since, offset, length, length / (until - since))

    def place(self, batch: Rows, moment: Int64Array) -> Int64Array:
        """Where a moment of the batch lies, in the measure of `time`: rounded edges let the shares sum exactly."""
        scaled = np.rint((moment - self.since[batch]) * self.factor[batch]).astype(np.int64)
        return self.offset[batch] + np.clip(scaled, 0, self.length[batch])

    def add_stages(self, track: int, until: Int64Array, parts: WaitParts) -> Intervals:
        """Gives the deepest stages of that row of the trace their shares; what is left of `time`."""
        tree, mine = parts.tree, parts.tree.pieces_of_track(track)
        pieces = Intervals(tree.piece_start[mine], tree.piece_end[mine])
        batch, piece = pieces.touching(self.since, until)
        start = self.place(batch, np.maximum(pieces.start[piece], self.since[batch]))
        end = self.place(batch, np.minimum(pieces.end[piece], until[batch]))
        return parts.add_shares(self.time, start, np.maximum(start, end), tree.piece_span[mine][piece])

    def add(
        self, name: str, batch: Rows, start: Int64Array, end: Int64Array, rest: Intervals, parts: WaitParts
    ) -> Intervals:
        """Gives `name` what `rest` has of these times of the batches; what is left of it."""
        first, last = self.place(batch, start), self.place(batch, end)
        share = self.time.at_measure(first[last > first], last[last > first]).intersect(rest)
        parts.add(name, share)
        return rest.minus(share)


def share_cycles(
    received: Received,
    table: BatchTable,
    since_ns: Int64Array,
    track: int,
    waits: Intervals,
    receiving: Receiving,
    parts: WaitParts,
) -> None:
    """Shares each wait over the deepest spans of the worker since it finished the batch before, by their length.

    Where it is in no stage while it sends the batch before, it waits for that: they share the interpreter's lock. What
    is left until it begins the batch is what taking the next index costs.
    What else it loses by sending is `sending.transfer_share`.
    """
    since = _recorded_since(since_ns[received.row], table.finished_ns[received.row], track, parts)
    unseen = since >= table.finished_ns[received.row]
    parts.add(UNRECORDED, Intervals.union(received.start[unseen], received.end[unseen]).intersect(waits))
    received, since = received.take(~unseen), since[~unseen]
    if not len(received.row):
        return
    finished = table.finished_ns[received.row]
    sends = Sending.of(table, int(table.pid[received.row[0]]))
    cycles = Cycles.of(since, finished, sends, track, receiving, parts)
    more = transfer_share(received.start, received.end, cycles, waits, receiving)
    parts.add(SERIALISE, more)
    scale = _Scale.of(received, since, finished, waits.minus(more))
    rest = scale.add_stages(track, finished, parts)
    rest = _add_sending(scale, int(table.pid[received.row[0]]), table, finished, rest, parts)
    started = np.clip(table.started_ns[received.row], since, finished)
    parts.add(OTHER, scale.add(INDEX, np.arange(len(received.row)), since, started, rest, parts))


def _add_sending(
    scale: _Scale, pid: int, table: BatchTable, until: Int64Array, rest: Intervals, parts: WaitParts
) -> Intervals:
    """Gives the way of the batches before what `rest` has of it: up to the thread that sends them, and serialised."""
    sends = (table.pid == pid) & known(table.serialise_ns) & known(table.serialised_ns)
    ready = np.where(known(table.finished_ns), np.minimum(table.finished_ns, table.serialise_ns), table.serialise_ns)
    for name, start, end in ((SERIALISE, table.serialise_ns, table.serialised_ns), (QUEUE, ready, table.serialise_ns)):
        sending = Intervals.union(start[sends], end[sends])
        batch, sent = sending.touching(scale.since, until)
        first, last = np.maximum(sending.start[sent], scale.since[batch]), np.minimum(sending.end[sent], until[batch])
        rest = scale.add(name, batch, first, last, rest, parts)
    return rest


def is_built_late(received: Received, table: BatchTable, track: int, parts: WaitParts) -> Chosen:
    """Which batches were still being built when their wait began, and drawn before it, all that being recorded."""
    drawn, finished = table.drawn_ns[received.row], table.finished_ns[received.row]
    recorded = _recorded_since(drawn, finished, track, parts) == drawn
    late: Chosen = known(drawn) & recorded & (drawn < received.start) & (finished > received.start)
    return late


def share_paths(
    received: Received,
    times: WorkerTimes,
    table: BatchTable,
    pins: bool,
    track: int,
    waits: Intervals,
    parts: WaitParts,
) -> None:
    """Shares each wait over what its batch went through since it was drawn, by length."""
    if not len(received.row):
        return
    drawn, finished = table.drawn_ns[received.row], table.finished_ns[received.row]
    scale = _Scale.of(received, drawn, received.end, waits)
    rest = scale.add_stages(track, np.minimum(finished, received.end), parts)
    every = np.arange(len(received.row))
    ready = np.minimum(finished, received.end)
    for name, start, end, has in way_of(received, ready, table, pins):
        rest = scale.add(name, every[has], start[has], end[has], rest, parts)
    rest = scale.add(TRANSFER, every, ready, received.end, rest, parts)
    begun = np.clip(begun_ns(times, table), drawn, ready)
    rest = scale.add(STARTUP, every, drawn, begun, rest, parts)
    rest = _add_sending(scale, times.process.pid, table, ready, rest, parts)
    started = np.clip(table.started_ns[received.row], drawn, ready)
    parts.add(OTHER, scale.add(INDEX, every, drawn, started, rest, parts))


def begun_ns(times: WorkerTimes, table: BatchTable) -> int:
    """When the process was at work: ready, and where its first index was drawn before that, when it began with it."""
    ready = times.process.started_ns
    mine = np.flatnonzero((table.pid == times.process.pid) & (table.loader == times.process.loader))
    mine = mine[known(table.started_ns[mine]) & (table.started_ns[mine] >= ready)]
    if not len(mine):
        return ready
    first = mine[table.started_ns[mine].argmin()]
    waited = known(table.drawn_ns[first]) and table.drawn_ns[first] <= ready
    return int(table.started_ns[first]) if waited else ready


def way_of(
    received: Received, ready: Int64Array, table: BatchTable, pins: bool
) -> Iterator[tuple[str, Int64Array, Int64Array, Chosen]]:
    """Where finished batches were, from `ready` to the end of their waits: from when, to when, and which have both."""
    columns = (table.finished_ns, table.serialise_ns, table.serialised_ns, table.deserialise_ns, table.arrived_ns)
    moments = np.stack([*(column[received.row] for column in columns), received.end])
    has = known(moments)
    reached = np.clip(np.maximum.accumulate(np.where(has, moments, ready), axis=0), ready, received.end)
    for number, name in enumerate((QUEUE, SERIALISE, QUEUE, DESERIALISE, PIN if pins else TRANSFER)):
        yield name, reached[number], reached[number + 1], has[number] & has[number + 1]


def _recorded_since(since: Int64Array, finished: Int64Array, track: int, parts: WaitParts) -> Int64Array:
    """From when on the worker's stages are in the trace: what it did before the recording began is not time between
    stages. At most `finished`.
    """
    tree, mine = parts.tree, parts.tree.pieces_of_track(track)
    starts = tree.piece_start[mine]
    if not len(starts):
        return since
    first = int(starts[0])
    before = first - since > np.maximum(QUEUED_NS, QUEUED_SHARE * (finished - since))
    return np.where(before, np.minimum(first, finished), since)
