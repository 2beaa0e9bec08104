"""What limited the batch that a wait received: the throughput of its DataLoader worker, or the latency of the batch.

A worker whose next index had been drawn when it finished a batch works as fast as it can: each batch comes earlier if
all that it does between two batches takes less time. How soon it begins with that index says less: it may wait for a
CPU, or for the interpreter's lock. A worker that had to wait for its next index keeps up; then only the way of this one
batch counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable

QUEUED_NS: Final = 1_000_000
"""A worker that is idle for no longer than this between two batches had an index as good as queued: taking it costs
that."""

QUEUED_SHARE: Final = 0.05
"""The same, as a share of the build time."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Per row of the batch table: whether throughput limits, and since when its worker worked for it: it had finished
    the batch before, and had this one's index.
    """

    throughput: npt.NDArray[np.bool_]
    since_ns: Int64Array


def find_batch_limits(table: BatchTable) -> BatchLimits:
    """The first batch of a process in an epoch has nothing before it that could have been faster: latency."""
    count = len(table)
    since, throughput = np.full(count, UNKNOWN_NS), np.zeros(count, dtype=np.bool_)
    rows = np.flatnonzero(known(table.started_ns) & known(table.finished_ns))
    rows = rows[np.lexsort((table.number[rows], table.started_ns[rows], table.pid[rows], table.loader[rows]))]
    begun = np.flatnonzero(known(table.started_ns))
    begun = begun[np.lexsort((table.started_ns[begun], table.pid[begun], table.loader[begun]))]
    before, after = begun[:-1], begun[1:]
    same = (table.pid[before] == table.pid[after]) & (table.loader[before] == table.loader[after])
    before, after = before[same], after[same]
    built = table.finished_ns[before] - table.started_ns[before]
    idle = table.started_ns[after] - table.finished_ns[before]
    queued = known(table.drawn_ns[after]) & (table.drawn_ns[after] <= table.finished_ns[before])
    prompt = idle <= np.maximum(QUEUED_NS, QUEUED_SHARE * built)
    throughput[before] = known(table.finished_ns[before]) & (queued | prompt)
    successive = known(table.finished_ns[before]) & (table.epoch[before] == table.epoch[after])
    since[after[successive]] = np.maximum(table.finished_ns[before], _given(table)[after])[successive]
    unseen = rows[(since[rows] == UNKNOWN_NS) & (table.number[rows] >= _workers_of(table)[rows])]
    since[unseen] = table.started_ns[unseen]  # the batch before it is not in the records
    throughput &= known(since) & known(table.finished_ns) & (since < table.finished_ns)
    return BatchLimits(throughput, since)


def _given(table: BatchTable) -> Int64Array:
    """When the worker had the index of each batch, where that is known; no later than it began with it."""
    return np.where(known(table.drawn_ns), np.minimum(table.drawn_ns, table.started_ns), UNKNOWN_NS)


def _workers_of(table: BatchTable) -> Int64Array:
    """Per row, how many worker ids its loader has: so many batches of an epoch are the first of their process."""
    count = np.zeros(len(table), dtype=np.int64)
    for loader in np.unique(table.loader).tolist():
        mine = table.loader == loader
        count[mine] = table.worker[mine].max() + 1
    return count
