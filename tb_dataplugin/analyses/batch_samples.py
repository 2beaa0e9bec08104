"""How many samples a batch of DataLoader workers has: the last one of an epoch has fewer than `batch_size` says.

What was recorded of that very batch comes first: the indices that were drawn for it; the spans of its samples; its
number in the epoch, where one of torch's samplers says how many indices an epoch has.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.making import single_samples
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, Trace

UNKNOWN: Final = -1


def samples_of_batches(trace: Trace, tree: StageTree, window: Window, table: BatchTable) -> Int64Array:
    """Per row of the table; `UNKNOWN` where nothing of that batch tells."""
    found: Int64Array = table.samples.copy()
    if (found == UNKNOWN).any():
        found = np.where(found == UNKNOWN, _by_spans(trace, tree, window, table), found)
        loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
        for number, loader in enumerate(loaders):
            rows = (found == UNKNOWN) & (table.loader == number)
            found[rows] = _by_number(loader, table.number[rows])
    return found


def _by_spans(trace: Trace, tree: StageTree, window: Window, table: BatchTable) -> Int64Array:
    """Of batches all of which were recorded, in DataLoader workers that lost no span."""
    found = np.full(len(table), UNKNOWN, dtype=np.int64)
    single = single_samples(tree)
    for track, process in trace.worker_tracks().items():
        here = tree.track == track
        rows = np.flatnonzero((table.pid == process.pid) & known(table.started_ns) & known(table.finished_ns))
        if process.dropped_spans or not here.any() or not len(rows):
            continue
        whole_since = min(window.start_ns, int(tree.start_ns[here].min()))
        rows = rows[table.started_ns[rows] >= whole_since]
        starts = np.sort(tree.start_ns[here & single])
        ends = (np.searchsorted(starts, moment[rows]) for moment in (table.finished_ns, table.started_ns))
        last, first = ends
        found[rows] = np.where(last > first, last - first, UNKNOWN)
    return found


def _by_number(loader: LoaderInfo, number: Int64Array) -> npt.NDArray[np.int64]:
    """By how many of the epoch's samples are left for it."""
    size, length = loader.batch_size, loader.sampler_length
    if loader.iterable or not size or not length:
        return np.full(len(number), UNKNOWN, dtype=np.int64)
    left = length - number * size
    return np.where((number >= 0) & (left > 0), np.minimum(size, left), UNKNOWN)
