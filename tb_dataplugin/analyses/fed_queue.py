"""The queue through which another thread feeds the training thread: batches that were ready and not yet asked for.

The queue is the user's own, so nothing of it is recorded. But each batch is finished once, by a DataLoader worker or by
the thread itself, and taken once, at the end of one of the training thread's waits. Counted from the window's start,
what is finished less what is taken is the change of all queues between the two; they held at least what that change
falls to below 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.fed_waits import find_fed_waits, threads_beside
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.resampling import Floats
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import BatchTable, Trace


@dataclass(frozen=True, slots=True)
class FedQueue:
    """`ready_first`, `ready_last`: finished batches at the window's start and end, at least. `taken`: by the training
    thread in the window. `builds`: per thread that makes batches itself, ns for each; empty where workers make them.
    """

    ready_first: float
    ready_last: float
    taken: int
    builds: tuple[Floats, ...]


def find_fed_queue(trace: Trace, window: Window, table: BatchTable | None, loader: int = 0) -> FedQueue | None:
    """None where no thread feeds the training thread, or where that takes something else than batches of the loader.

    Args:
        loader: whose DataLoader workers make the batches, where there are any.
    """
    taken = _taken(trace, window)
    if not len(taken):
        return None
    has_workers = table is not None and len(table)
    threads = () if has_workers else tuple(_batches_of_threads(trace, window))
    made = np.sort(np.concatenate([_made_by_workers(table, loader), *(ends for ends, _ in threads)]))
    made = made[(made >= window.start_ns) & (made <= window.end_ns)]
    if not _one_for_one(made, taken):
        return None
    change = np.searchsorted(made, taken) - np.arange(1, len(taken) + 1)
    first = float(max(0, -int(change.min())))
    last = first + len(made) - len(taken)
    return FedQueue(first, last, len(taken), tuple(builds for _, builds in threads if len(builds)))


def come_one_for_one(trace: Trace, window: Window, handed: Int64Array) -> bool:
    """Whether the training thread takes one of these from the other thread each time, by when that got them."""
    taken = _taken(trace, window)
    return bool(len(taken)) and _one_for_one(np.sort(handed), taken)


def _taken(trace: Trace, window: Window) -> Int64Array:
    """Ends of the waits for another thread in the window: those of the iterator with most."""
    waits = max(find_fed_waits(trace).values(), key=len, default=Intervals.union_of(()))
    end = waits.end[(waits.end > window.start_ns) & (waits.end <= window.end_ns)]
    return np.sort(end)


def _made_by_workers(table: BatchTable | None, loader: int) -> Int64Array:
    """When its batches were finished."""
    if table is None:
        return np.zeros(0, dtype=np.int64)
    finished: Int64Array = table.finished_ns[(table.loader == loader) & known(table.finished_ns)]
    return finished


def _batches_of_threads(trace: Trace, window: Window) -> Iterator[tuple[Int64Array, Floats]]:
    """Per thread beside the training thread: when its batches were collated, and for all but the first how long it was
    in stages for them.
    """
    spans, events = trace.stage_spans, trace.events
    for track in threads_beside(trace):
        rows = spans.row[events.track[spans.row] == track]
        collated = spans.row[spans.is_kind("collate") & (events.track[spans.row] == track)]
        ends = np.sort(events.end_ns[collated])
        stages = Intervals.union(events.start_ns[rows], events.end_ns[rows])
        inside = ends[(ends > window.start_ns) & (ends <= window.end_ns)]
        yield ends, stages.overlap(inside[:-1], inside[1:]).astype(np.float64)


def _one_for_one(made: Int64Array, taken: Int64Array) -> bool:
    """What is taken are the batches that are made: neither parts of them, nor several at once. Seen where the queues
    have settled, in the second half of the window.
    """
    since = taken[len(taken) // 2]
    late, of = int((made > since).sum()), int((taken > since).sum())
    return 2 * late >= of and late <= 2 * of
