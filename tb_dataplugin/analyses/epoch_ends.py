"""Waits in which the DataLoader workers of an epoch ended: the ``next()`` that finds it over waits for them.

When a worker ended is recorded of those that left a batch or spans in the capture. Where the capture begins at an
epoch's end they left none. But a ``next()`` without a batch found an epoch over, whatever became of its workers: that
they ended is certain where the loader's next batch is the first of a later epoch, of a worker that started afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.waits_of_others import IN_PROCESS, has_mark
from tb_dataplugin.analyses.workers import BatchTimes, Workers
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64
from tb_dataplugin.model.trace import LoaderInfo, Trace


def waits_for_ends(trace: Trace, waits: Intervals, workers: Workers | None) -> Intervals:
    """Those of these waits in which DataLoader workers ended."""
    rows = np.isin(np.arange(len(waits)), _waits_at(waits, _worker_ends(trace)))
    if workers is not None:
        rows[list(_before_new_workers(trace, waits, workers.batches))] = True
    return Intervals(waits.start[rows], waits.end[rows])


def _worker_ends(trace: Trace) -> Int64Array:
    workers = trace.info.pipeline.workers if trace.info.pipeline else ()
    return int64([worker.ended_ns for worker in workers if worker.ended_ns is not None])


def _waits_at(waits: Intervals, times: Int64Array) -> Int64Array:
    """Numbers of the waits that these times lie in."""
    number = np.searchsorted(waits.start, times, side="right") - 1
    return number[(number >= 0) & (times <= waits.end[np.maximum(number, 0)])]


def _before_new_workers(trace: Trace, waits: Intervals, batches: BatchTimes) -> Iterator[int]:
    """Numbers of the waits without a batch after which a loader's workers were started anew for its next one. None
    where a loader left no batches: the wait may have been for one of these. Of a loader without workers torch's mark
    tells.
    """
    pipeline, table = trace.info.pipeline, batches.table
    loaders = pipeline.loaders if pipeline else ()
    took = known(table.consumed_ns)
    if pipeline is None or not all(
        _left_batches(loader, took & (table.loader == n)) for n, loader in enumerate(loaders)
    ):
        return
    started = {(worker.loader, worker.pid): worker.started_ns for worker in pipeline.workers}
    consumed = np.sort(table.received_ns[took])
    empty = np.searchsorted(consumed, waits.end, side="right") == np.searchsorted(consumed, waits.start)
    empty &= ~has_mark(trace, waits, IN_PROCESS)
    for number, loader in enumerate(loaders):
        rows = np.flatnonzero(took & (table.loader == number))
        if loader.persistent_workers or not len(rows):
            continue
        rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
        after = np.searchsorted(table.consumed_ns[rows], waits.end)
        for wait in np.flatnonzero(empty & (after < len(rows))).tolist():
            row = rows[after[wait]]
            begun = started.get((number, int(table.pid[row])))
            is_first = table.number[row] == 0 and table.epoch[row] > 0
            if is_first and begun is not None and begun >= waits.end[wait]:
                yield wait


def _left_batches(loader: LoaderInfo, taken: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    return bool(taken.any()) or loader.iterated_in_window == 0 or loader.num_workers == 0
