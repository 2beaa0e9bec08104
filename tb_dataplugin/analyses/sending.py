"""What a DataLoader worker's cycle has of sending batches, and what its transfer has of the waits for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.receiving import Receiving
from tb_dataplugin.analyses.wait_parts import WaitParts
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import BatchTable


@dataclass(frozen=True, slots=True)
class Sending:
    """When a worker serialised batches, and until when it sent them: the training process deserialised them then."""

    serialising: Intervals
    sending: Intervals

    @staticmethod
    def of(table: BatchTable, pid: int) -> Sending:
        sends = (table.pid == pid) & known(table.serialise_ns) & known(table.serialised_ns)
        start, end = table.serialise_ns[sends], table.serialised_ns[sends]
        taken = np.maximum(end, table.deserialise_ns[sends])
        return Sending(Intervals.union(start, end), Intervals.union(start, taken))


@dataclass(frozen=True, slots=True)
class Cycles:
    """Per batch, how long its worker's cycle was; how long it was in stages; and what it lost by serialising.

    `alone`: in no stage while it serialised the batch before. `slower`: in stages, by which they took longer beside
    sending than away from it.
    """

    length: Int64Array
    building: Int64Array
    alone: Int64Array
    slower: Int64Array

    @staticmethod
    def of(
        since: Int64Array, finished: Int64Array, sends: Sending, track: int, receiving: Receiving, parts: WaitParts
    ) -> Cycles:
        tree, mine = parts.tree, parts.tree.pieces_of_track(track)
        stages = Intervals.union(tree.piece_start[mine], tree.piece_end[mine])
        building = stages.overlap(since, finished)
        alone = sends.serialising.minus(stages).overlap(since, finished)
        slower = np.clip(_slower(since, finished, sends.sending, track, receiving, parts), 0, building)
        return Cycles(finished - since, building, alone, slower)


def _slower(
    since: Int64Array, finished: Int64Array, sending: Intervals, track: int, receiving: Receiving, parts: WaitParts
) -> Int64Array:
    """Time that the worker's stages were off a CPU beside sending, less what they are away from it.

    A stage that sleeps does so in both; of one that is never seen away from sending nothing is said.
    """
    tree, mine = parts.tree, parts.tree.pieces_of_track(track)
    start, end, span = tree.piece_start[mine], tree.piece_end[mine], tree.piece_span[mine]
    beside, node, off = sending.overlap(start, end), tree.node[span], 1 - receiving.on_cpu[span]
    away = end - start - beside
    count = len(tree.paths)
    whole = np.bincount(node, away, count)
    usual = np.bincount(node, away * off, count) / np.maximum(1, whole)
    usual[whole == 0] = 1.0
    lost = np.concatenate(([0.0], np.cumsum(beside * (off - usual[node]))))
    first = np.searchsorted(start, since)
    last = np.maximum(first, np.searchsorted(start, finished))
    slower: Int64Array = np.rint(lost[last] - lost[first]).astype(np.int64)
    return slower


def transfer_share(
    start: Int64Array, end: Int64Array, cycles: Cycles, waits: Intervals, receiving: Receiving
) -> Intervals:
    """What the transfer has of the waits for these batches, beyond the time of `Cycles.alone` in its worker's cycle.

    While the training thread is on a CPU in its wait, it receives the batch: that time stays, however fast the worker
    builds. So building can bring at most the rest of the wait, `built`; the transfer, what the worker loses by
    it, `sent`. They share the wait in that proportion.
    """
    time = Intervals.union(start, end).intersect(waits)
    offset = time.covered_before(start)
    wait = time.covered_before(end) - offset
    cpu = receiving.cpu_in(start, end)
    built = np.minimum(cycles.building - cycles.slower, np.maximum(0, wait - cpu))
    sent = np.minimum(cycles.alone + cycles.slower, wait)
    due = sent / np.maximum(1, built + sent)
    has = cycles.alone / np.maximum(1, cycles.length)
    more = np.where(cpu >= 0, np.clip((due - has) / np.maximum(1e-9, 1 - has), 0, 1), 0)
    length = np.rint(more * wait).astype(np.int64)
    return time.at_measure(offset + wait - length, offset + wait)
