"""Time between two epochs: what the program does from the ``next()`` that finds an epoch over to the next
``iter(loader)``, as saving a checkpoint does. No step of the training loop has it, though it lies in one.

Only where both ends are sure: the wait before it brought no batch, of a loader whose waits bring some otherwise, and
the wait after it begins an epoch. What lies between a loop that is left early and the next ``iter()`` may be the last
step's own work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.restarts import Restarts
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, int64
from tb_dataplugin.model.trace import Trace

BoolArray = npt.NDArray[np.bool_]


def find_between_epochs(
    trace: Trace,
    loader: LoaderWait,
    use: LoaderUse,
    batches: BatchTimes | None,
    steps: Steps | None,
    restarts: Sequence[Restarts],
) -> Intervals:
    """Empty where most steps have one: a loop of single batches is made of them."""
    waits = loader.waits
    if trace.info.pipeline is None or steps is None or len(use.of_wait) != len(waits):
        return EMPTY
    brings = _brings(trace, waits, batches)
    begun = Intervals.union_of((loader.made, loader.first_batches or EMPTY)).overlap(waits.start, waits.end) > 0
    over = ~brings & ~begun & _gives_batches(use.of_wait, brings)
    begun |= _begun_anew(trace, waits, use.of_wait, over)
    again = Intervals.union_of(each.waits for each in restarts).overlap(waits.start, waits.end) > 0
    rows = over[:-1] & (begun & ~again)[1:]
    found = Intervals.union(waits.end[:-1][rows], waits.start[1:][rows])
    return EMPTY if 2 * len(found) > len(steps) else found


def _begun_anew(trace: Trace, waits: Intervals, of_wait: Int64Array, over: BoolArray) -> BoolArray:
    """Waits for the first batch of an iterator without DataLoader workers, whose ``iter()`` is not marked: the one
    before it came to its end. Not where that seems so more often than the loader was iterated.
    """
    begun = np.zeros(len(waits), dtype=np.bool_)
    for number, info in enumerate(trace.info.pipeline.loaders if trace.info.pipeline else ()):
        mine = np.flatnonzero(of_wait == number)
        after = mine[1:][over[mine[:-1]] & ~over[mine[1:]]]
        if not info.num_workers and len(after) <= (info.iterated_in_window or 0):
            begun[after] = True
    return begun


def _brings(trace: Trace, waits: Intervals, batches: BatchTimes | None) -> BoolArray:
    """Which of these waits have a batch that DataLoader workers built, or samples that the training thread did."""
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[(spans.is_kind("sample") | spans.is_kind("collate"))]
    built = events.start_ns[rows[events.track[rows] == trace.training_track]]
    taken = int64([]) if batches is None else batches.wait_start_ns[known(batches.wait_start_ns)]
    times = np.concatenate((built[waits.contains(built)], taken[waits.contains(taken)]))
    found = np.zeros(len(waits), dtype=np.bool_)
    found[np.searchsorted(waits.start, times, side="right") - 1] = True
    return found


def _gives_batches(of_wait: Int64Array, brings: BoolArray) -> BoolArray:
    """Whether the loader of each wait is one whose batches the capture has: of others no wait seems to bring any."""
    has = np.unique(of_wait[brings])
    found: BoolArray = np.isin(of_wait, has[has >= 0])
    return found
