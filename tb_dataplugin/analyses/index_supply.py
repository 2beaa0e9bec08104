"""When a DataLoader had indices to give to a worker: from the first to the last one of an epoch.

Where the recording ends before the epoch does, its last index is not the last recorded one. Torch draws an index for
each batch that it hands out, for one worker after the other: the epoch goes on where fewer have been handed out since
than it has workers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, PipelineInfo, Trace, WorkerProcess

BoolArray = npt.NDArray[np.bool_]


def given_to(trace: Trace, process: WorkerProcess, window: Window) -> Intervals:
    """The worker of an iterable dataset may come to its end before the others: nothing is missing from then on."""
    pipeline = trace.info.pipeline
    assert pipeline is not None and pipeline.batches is not None
    table, number = pipeline.batches, process.loader
    rows = table.loader == number
    loader = pipeline.loaders[number] if number < len(pipeline.loaders) else LoaderInfo()
    given = _drawing(table, rows & (table.pid == process.pid) if loader.iterable else rows)
    if _is_over(loader, window):
        return given
    workers = max(loader.num_workers or 0, len(_workers_of(pipeline, number)))
    return Intervals.union_of((given, _going_on(table, rows, process, workers, window)))


def _workers_of(pipeline: PipelineInfo, number: int) -> set[int]:
    return {worker.worker for worker in pipeline.workers if worker.loader == number}


def _is_over(loader: LoaderInfo, window: Window) -> bool:
    """Its latest pass, as far as that is known."""
    passes = [ended for began, ended in loader.passes_ts_us if began * 1e3 < window.end_ns]
    return bool(passes) and passes[-1] is not None and passes[-1] * 1e3 <= window.end_ns


def _drawing(table: BatchTable, rows: BoolArray) -> Intervals:
    """Per epoch, from the first to the last index of these batches that the loader put into a queue."""
    rows = rows & known(table.drawn_ns)
    drawn, (epochs, place) = table.drawn_ns[rows], np.unique(table.epoch[rows], return_inverse=True)
    first, last = np.full(len(epochs), drawn.max(initial=0)), np.full(len(epochs), drawn.min(initial=0))
    np.minimum.at(first, place, drawn)
    np.maximum.at(last, place, drawn)
    return Intervals.union(first, last)


def _going_on(table: BatchTable, rows: BoolArray, process: WorkerProcess, workers: int, window: Window) -> Intervals:
    """From the last index that this worker got, while the loader's latest epoch still has some: until a batch of it was
    handed out, or the window ends, if no more time is left than from one to the next.
    """
    rows = rows & (table.epoch == table.epoch[rows].max(initial=-1))
    drawn = table.drawn_ns[rows & (table.pid == process.pid) & known(table.drawn_ns)]
    if not len(drawn):
        return EMPTY
    last = int(drawn.max())
    handed_out = np.sort(table.consumed_ns[rows & known(table.consumed_ns)])
    since = rows & (table.consumed_ns > last)
    came_since = since & (table.arrived_ns > last)
    later = int(since.sum()) - int((since & ~came_since).any())  # one of those had it drawn
    if later >= workers or not len(handed_out):
        return EMPTY
    until = max(last, int(handed_out[-1]))
    if window.end_ns - until <= np.diff(handed_out).max(initial=0):
        until = max(until, window.end_ns)
    return Intervals.union([last], [until])
