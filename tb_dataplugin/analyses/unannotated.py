"""Waits for batches of a DataLoader that is not annotated, beside one that is.

Who built these batches is not recorded. But torch's own mark says that it is a DataLoader with workers that is waited
for. And it is not the recorded one where that handed out a batch before, and the next one of the same epoch after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.wait_parts import UNRECORDED
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.units import duration, plural

OF_WORKERS: Final = "#_MultiProcessingDataLoaderIter.__next__"
"""Ends the name of torch's mark."""


def find_unannotated(results: Results) -> Intervals:
    """Of the data wait without a record, what is certainly for another DataLoader. Empty where several are recorded, or
    one is without order: a batch may be missing then.
    """
    unrecorded, workers = results.attribution.by_stage.get(UNRECORDED, EMPTY), results.workers
    pipeline = results.trace.info.pipeline
    if not len(unrecorded) or workers is None or pipeline is None or len(pipeline.loaders) != 1:
        return EMPTY
    if pipeline.loaders[0].in_order is False:
        return EMPTY
    return unrecorded.intersect(_between_batches(workers.batches)).intersect(_marked_by_torch(results.trace))


def unannotated_notes(results: Results) -> Iterator[Diagnostic]:
    waits = find_unannotated(results)
    if len(waits):
        message = (
            f"Another DataLoader, which is not annotated, has {duration(waits.total_ns / 1e3)} of the data wait in "
            f"{plural(len(waits), 'wait')} (an evaluation?). What the report says of the loop has that in it. Call "
            "annotate.auto() before the loop, which follows all DataLoaders, or give that one to annotate.loader(...)"
        )
        yield Diagnostic("workers", "unannotated_loader", 1, message)


def _between_batches(batches: BatchTimes) -> Intervals:
    """From each batch to the next one, where no number is missing in between."""
    table = batches.table
    rows = np.flatnonzero(known(batches.wait_start_ns) & (table.number >= 0))
    rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
    before, after = rows[:-1], rows[1:]
    follows = (table.epoch[before] == table.epoch[after]) & (table.number[before] + 1 == table.number[after])
    start, end = batches.wait_end_ns[before[follows]], batches.wait_start_ns[after[follows]]
    return Intervals.union(start, np.maximum(start, end))


def _marked_by_torch(trace: Trace) -> Intervals:
    names = np.array([name.endswith(OF_WORKERS) for name in trace.names], dtype=np.bool_)
    rows = np.flatnonzero(names[trace.events.name] & (trace.events.track == trace.training_track))
    return Intervals.union(trace.events.start_ns[rows], trace.events.end_ns[rows])
