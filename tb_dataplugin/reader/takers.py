"""Batches that another thread than the training one took, as one that evaluates while the program trains.

Captures say so of each batch. Earlier ones do not, but torch marks each ``next()`` of the training thread, which hands
out its batch as it returns: of several batches that are taken in one such span only the last can be its own, and one
that is taken between them is not. A DataLoader's iterator belongs to one thread, so most of an epoch's batches decide.

A thread may also take batches for the training thread, which waits for it in an iterator of the program's own. Where
there are such waits, only those that are taken while the training thread is in a ``next()`` of its own are certain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable, Trace

BoolArray = npt.NDArray[np.bool_]

_NEXT: Final = "enumerate("
"""Begins the names of torch's spans of ``next()``."""
_OF_WORKERS: Final = "#_MultiProcessingDataLoaderIter.__next__"
"""Ends them where DataLoader workers build the batches."""


def with_takers(trace: Trace) -> Trace:
    """The trace with `BatchTable.elsewhere` of all batches."""
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.batches is None:
        return trace
    table = pipeline.batches
    elsewhere = table.elsewhere > 0
    if len(table) and (table.elsewhere[table.consumed_ns != UNKNOWN_NS] < 0).all():
        elsewhere = _shown_by_marks(trace, table)
    if len(_waits_for_a_thread(trace)):
        elsewhere = elsewhere & _marks(trace, _NEXT).contains(table.consumed_ns)
    batches = replace(table, elsewhere=elsewhere.astype(np.int64))
    return replace(trace, info=replace(trace.info, pipeline=replace(pipeline, batches=batches)))


def _waits_for_a_thread(trace: Trace) -> Intervals:
    """Waits of the training thread without a ``next()`` or ``iter()`` of a DataLoader: another thread may end them."""
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[spans.is_kind("wait") & ~spans.is_iter()]
    rows = rows[events.track[rows] == trace.training_track]
    own = _marks(trace, _NEXT)
    alone = own.overlap(events.start_ns[rows], events.end_ns[rows]) == 0
    return Intervals.union(events.start_ns[rows[alone]], events.end_ns[rows[alone]])


def _marks(trace: Trace, begin: str, end: str = "") -> Intervals:
    """The training thread's spans whose names begin and end so."""
    named = np.array([name.startswith(begin) and name.endswith(end) for name in trace.names], dtype=np.bool_)
    if not len(named):
        return Intervals.union((), ())
    events = trace.events
    rows = np.flatnonzero(named[events.name] & (events.track == trace.training_track))
    return Intervals.union(events.start_ns[rows], events.end_ns[rows])


def _shown_by_marks(trace: Trace, table: BatchTable) -> BoolArray:
    """By loader and epoch, unless most of the batches are such as the training thread can have got."""
    elsewhere, marks = np.zeros(len(table), dtype=np.bool_), _marks(trace, _NEXT, _OF_WORKERS)
    if not len(marks):
        return elsewhere
    seen = (table.consumed_ns >= marks.start[0]) & (table.consumed_ns <= marks.end[-1])
    own = seen & _last_in(marks, table.consumed_ns)
    for loader, epoch in {*zip(table.loader[seen].tolist(), table.epoch[seen].tolist(), strict=True)}:
        mine = (table.loader == loader) & (table.epoch == epoch) & (table.consumed_ns != UNKNOWN_NS)
        elsewhere[mine] = 2 * int((mine & own).sum()) <= int((mine & seen).sum())
    return elsewhere


def _last_in(spans: Intervals, times: Int64Array) -> BoolArray:
    """Which of these times are the last ones in one of the disjoint `spans`."""
    order = np.argsort(times, kind="stable")
    after = np.searchsorted(times[order], spans.end, side="right")
    last = order[after[after > 0] - 1]
    found = np.zeros(len(times), dtype=np.bool_)
    found[last] = True
    inside: BoolArray = found & spans.contains(times)
    return inside
