"""What receiving a batch takes, and for how long the DataLoader worker that sends it holds it up.

To open the memory of a batch the training process asks a thread of its worker, and that thread needs the interpreter's
lock, which a worker that builds the next batch in Python does not give away. So deserialising in which the training
thread is not on a CPU, while the sender builds, is as long as the sender builds, and not longer. Where nothing tells
whether the thread was on one, half of that time is taken for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.receiving import UNKNOWN_CPU, find_receiving
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.workers import BatchTimes, Workers
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64
from tb_dataplugin.model.trace import BatchTable
from tb_dataplugin.whatif.loop import Floats, Rows, Timed
from tb_dataplugin.whatif.stage_parts import parts_within
from tb_dataplugin.whatif.taken_ahead import taking_ns
from tb_dataplugin.whatif.unknown import HALFWAY

LEAST: Final = 4
"""Batches that were all held up until their worker had built its next one, before that is taken as what happens."""


@dataclass(frozen=True, slots=True)
class Received:
    """``next()`` of the training thread, per batch: what it does itself; `Loop.held_ns` and `Loop.maybe_held_ns`.
    Where another thread receives them (`Loop.ahead`), what no stage has of `own` is that thread's.
    """

    own: Timed
    held_ns: Floats
    maybe_held_ns: Floats


def find_received(results: Results, workers: Workers, rows: Rows, ready: Int64Array, itself: bool = False) -> Received:
    """For each of `rows`: stages, deserialising, and what else passes once the training thread has a batch. `ready`:
    when batches were serialised, of all rows. `itself`: another thread takes, and receives, them ahead of the loop.

    Batches are deserialised as they arrive, so also in the wait for an earlier one.
    """
    assert results.trace.training_track is not None and results.loader is not None
    table, track = workers.batches.table, results.trace.training_track
    start, end = workers.batches.wait_start_ns[rows], workers.batches.wait_end_ns[rows]
    whole = parts_within(results.tree, track, start, end)
    waits = results.loader.waits
    if itself:
        return _taken_ahead(results, workers.batches, rows, ready, whole)
    timed = known(table.deserialise_ns[rows]) & known(table.arrived_ns[rows])
    if not (timed & waits.contains(table.deserialise_ns[rows])).all():  # another thread does it, as where it pins
        begun = np.maximum(ready[rows], _taken_before(table, rows))
        after = parts_within(results.tree, track, np.clip(begun, start, end), end)
        return Received(_with_rest(whole, after.ns[:, -1]), np.zeros(1), np.zeros(1))
    after = parts_within(results.tree, track, np.clip(table.arrived_ns[rows], start, end), end)
    off_cpu, beside = _off_cpu(results, table, rows), _beside_building(table, rows)
    held = beside * (HALFWAY if off_cpu is None else off_cpu)
    taking = table.arrived_ns[rows] - _begun(table, rows, ready, waits)
    own = _with_rest(whole, after.ns[:, -1] + np.maximum(0, taking - held))
    if off_cpu is None:
        return Received(own, held, beside)
    return Received(own, _limited(held, table, rows), np.zeros(1))


def _taken_ahead(results: Results, batches: BatchTimes, rows: Rows, ready: Int64Array, whole: Timed) -> Received:
    """Nothing tells when that thread was on a CPU."""
    beside = _beside_building(batches.table, rows)
    held = HALFWAY * beside
    own = _with_rest(whole, np.maximum(0, taking_ns(results, batches, rows, ready) - held))
    return Received(own, held, beside)


def _taken_before(table: BatchTable, rows: Rows) -> Int64Array:
    """When the batch before each was taken: a thread that takes several in one wait of the training thread turns to one
    after the other.
    """
    taken = np.sort(table.consumed_ns[known(table.consumed_ns)])
    before = np.searchsorted(taken, table.consumed_ns[rows], side="left") - 1
    return int64(np.where(before >= 0, taken[np.maximum(before, 0)], 0))


def _with_rest(whole: Timed, rest: Floats) -> Timed:
    """With that as the time of no stage."""
    return Timed(whole.parts, np.column_stack((whole.ns[:, :-1], rest)))


def _begun(table: BatchTable, rows: Rows, ready: Int64Array, waits: Intervals) -> Int64Array:
    """When the training thread could turn to each batch: that was ready, the one before had arrived, and it waited."""
    deserialise = table.deserialise_ns
    order = np.flatnonzero(known(deserialise) & known(table.arrived_ns))
    order = order[np.argsort(deserialise[order], kind="stable")]
    before = np.searchsorted(deserialise[order], deserialise[rows]) - 1
    arrived = np.where(before >= 0, table.arrived_ns[order][np.maximum(before, 0)], deserialise[rows])
    wait = np.searchsorted(waits.start, deserialise[rows], side="right") - 1
    begun = np.maximum(ready[rows], waits.start[np.maximum(wait, 0)])
    begun = np.where(arrived <= deserialise[rows], np.maximum(begun, arrived), begun)
    return np.minimum(begun, deserialise[rows])


def _off_cpu(results: Results, table: BatchTable, rows: Rows) -> float | None:
    """Of deserialising these batches: the share in which the training thread was on no CPU; None: not known."""
    receiving = find_receiving(results.trace, results.tree)
    wait = np.searchsorted(receiving.start, table.deserialise_ns[rows], side="right") - 1
    is_known = receiving.cpu_ns[wait] != UNKNOWN_CPU
    own_ns = float(receiving.cpu_ns[np.unique(wait[is_known])].sum())
    took_ns = float((table.arrived_ns[rows] - table.deserialise_ns[rows])[is_known].sum())
    return max(0.0, 1.0 - own_ns / took_ns) if took_ns else None


def _beside_building(table: BatchTable, rows: Rows) -> Floats:
    """Of deserialising each batch: while its worker built."""
    beside = np.zeros(len(rows))
    for pid in np.unique(table.pid[rows]).tolist():
        built = (table.pid == pid) & known(table.started_ns) & known(table.finished_ns)
        building = Intervals.union(table.started_ns[built], table.finished_ns[built])
        mine = table.pid[rows] == pid
        beside[mine] = building.overlap(table.deserialise_ns[rows[mine]], table.arrived_ns[rows[mine]])
    return beside


def _limited(held: Floats, table: BatchTable, rows: Rows) -> Floats:
    """`held`, or infinite where none of these batches arrived before its worker had built the next one: how long it
    would have been held up then is not known.
    """
    finished = np.zeros(len(rows), dtype=np.bool_)
    for pid in np.unique(table.pid[rows]).tolist():
        mine = table.pid[rows] == pid
        ends = np.sort(table.finished_ns[(table.pid == pid) & known(table.finished_ns)])
        count = [np.searchsorted(ends, at[rows[mine]], side="right") for at in (table.deserialise_ns, table.arrived_ns)]
        finished[mine] = count[1] > count[0]
    is_held = held > 0
    if is_held.sum() < LEAST or not finished[is_held].all():
        return held
    return np.where(is_held, np.inf, 0.0)
