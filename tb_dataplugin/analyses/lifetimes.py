"""When each DataLoader worker process was alive.

From the first index drawn for it (its process is started right before), or from when it was ready if that is earlier,
to its end. Where the trace does not say when it ended: if its loader has a newer epoch made by other processes, it
ended at the latest when that epoch drew its first index; else it outlives the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable, WorkerProcess


def known(times: Int64Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which times happened and were seen."""
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = times != UNKNOWN_NS
    return mask


def lifetimes(workers: Sequence[WorkerProcess], table: BatchTable, window: Window) -> list[Window]:
    """In the order of `workers`; not clipped to the window."""
    return [_lifetime(worker, table, window) for worker in workers]


def _lifetime(worker: WorkerProcess, table: BatchTable, window: Window) -> Window:
    of_loader = table.loader == worker.loader
    mine = of_loader & (table.pid == worker.pid)
    drawn = table.drawn_ns[mine & known(table.drawn_ns)]
    start = min(worker.started_ns, int(drawn.min(initial=worker.started_ns)))
    if worker.ended_ns is not None:
        return Window(start, max(start, worker.ended_ns))
    epoch = table.epoch[mine]
    if not len(epoch):  # it built nothing, so that which epoch it was made for is not known
        return Window(start, max(start, window.end_ns))
    newer = of_loader & ~mine & known(table.drawn_ns) & (table.epoch > int(epoch.max()))
    replaced = int(table.drawn_ns[newer].min(initial=window.end_ns))
    return Window(start, max(start, replaced, _last_seen(table, mine)))


def _last_seen(table: BatchTable, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """The last that is known of the process: it was alive then."""
    return max(int(column[mine].max()) for column in (table.started_ns, table.finished_ns, table.serialised_ns))
