"""Waits for other DataLoaders during which the loop's own has something to build: its epoch goes on.

Between two epochs there is nothing: indices are drawn when the next one begins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import LoaderInfo, Trace

BoolArray = npt.NDArray[np.bool_]


def waits_in_epochs(waits: Intervals, trace: Trace, use: LoaderUse, batches: BatchTimes | None) -> Intervals:
    """Those of these waits during which an epoch of the training loop's DataLoader goes on. Without records of its
    batches, its iterators tell; all of them where those were not recorded.
    """
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    inside = np.ones(len(waits), dtype=np.bool_)
    if batches is not None and (mine := batches.table.loader == use.main).any():
        inside = _has_batches_left(waits, batches, mine)
    elif use.main < len(loaders) and loaders[use.main].passes_ts_us:
        inside = _in_passes(waits, loaders[use.main])
    return Intervals(waits.start[inside], waits.end[inside])


def _in_passes(waits: Intervals, loader: LoaderInfo) -> BoolArray:
    began = np.array([began for began, _ in loader.passes_ts_us]) * 1e3
    ended = np.array([np.inf if ended is None else ended for _, ended in loader.passes_ts_us]) * 1e3
    return np.any((began[:, None] <= waits.start) & (waits.start < ended[:, None]), axis=0)  # type: ignore[no-any-return]


def _has_batches_left(waits: Intervals, batches: BatchTimes, mine: BoolArray) -> BoolArray:
    """At the beginning of each wait: a batch whose index is drawn, and that is handed out later, or not any more."""
    table = batches.table
    drawn = np.where(known(table.drawn_ns), table.drawn_ns, table.started_ns)[mine]
    consumed = table.consumed_ns[mine]
    until = np.where(known(consumed), consumed, np.iinfo(np.int64).max)[known(drawn)]
    drawn = drawn[known(drawn)]
    return np.any((drawn[:, None] <= waits.start) & (waits.start < until[:, None]), axis=0)  # type: ignore[no-any-return]
