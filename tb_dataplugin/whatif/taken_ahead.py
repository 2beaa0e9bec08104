"""Batches that another thread of the program takes from the DataLoader, ahead of the loop: it receives them beside the
steps, keeps them in a queue of its own, and the training thread takes them from there.

Such a thread receives one batch after the other, and does with each what its code says before it turns to the next.
"""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.batch_shares import pinning_loaders
from tb_dataplugin.analyses.fed_waits import find_fed_waits
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64
from tb_dataplugin.model.trace import BatchTable, Trace
from tb_dataplugin.whatif.loop import Floats, Rows


def kept_ahead(results: Results, table: BatchTable) -> int:
    """Batches of the loop's DataLoader that another thread had in hand for the loop at once, at most in the window, at
    least one; 0 where the training thread takes them itself.
    """
    mine = known(table.consumed_ns) & (table.loader == results.use.in_workers)
    consumed = np.sort(table.consumed_ns[mine])
    consumed = consumed[(consumed >= results.window.start_ns) & (consumed <= results.window.end_ns)]
    waits = _fed_waits(results.trace)
    if not len(waits) or not len(consumed) or results.trace.stage_spans.inner_waits.contains(consumed).any():
        return 0
    taken = np.sort(waits.end[(waits.end >= results.window.start_ns) & (waits.end <= results.window.end_ns)])
    change = np.searchsorted(consumed, taken) - np.arange(1, len(taken) + 1)
    first = max(0, -int(change.min(initial=0)))
    most = first + np.arange(1, len(consumed) + 1) - np.searchsorted(taken, consumed)
    return max(1, int(most.max()))


def find_taken(results: Results, batches: BatchTimes, rows: Rows, ahead: int) -> tuple[Rows, bool]:
    """Which of these batches show what receiving one takes, and whether a thread that takes them `ahead` receives them
    itself, and no further one that pins.
    """
    table = batches.table
    later = rows[table.number[rows] != 0]
    mine = later[table.consumed_ns[later] >= results.window.start_ns]
    # The last ones in the window tell of their moments with batches behind it; there are files with a time before all.
    mine = mine[(table.deserialise_ns[mine] >= table.finished_ns[mine]) & known(table.arrived_ns[mine])]
    if ahead and len(mine) and results.use.in_workers not in pinning_loaders(results.trace):
        return mine, True
    return later[known(batches.wait_start_ns[later])], False


def taking_ns(results: Results, batches: BatchTimes, rows: Rows, ready: Int64Array) -> Floats:
    """How long that thread has each of these batches in hand: receiving it, and what else it does with it until it
    turns to the next. `ready`: when batches were serialised, of all rows.
    """
    table = batches.table
    receiving = (table.arrived_ns - table.deserialise_ns)[rows].astype(np.float64)
    return receiving + _after_ns(results, batches, rows, ready)


def _after_ns(results: Results, batches: BatchTimes, rows: Rows, ready: Int64Array) -> float:
    """What it does with one, from what is seen while the loop waits, so that its queue is empty: the loop gets a batch
    when the thread is done with it; and a batch that was there already is turned to when it is done with the last one.
    """
    table, before = batches.table, _before(batches.table, rows)
    waited = rows[known(batches.wait_start_ns[rows])]
    until_put = np.maximum(0, (batches.wait_end_ns - table.consumed_ns)[waited])
    had_room = (ready[rows] <= before) & _fed_waits(results.trace).contains(before)
    until_next = (table.deserialise_ns[rows] - before)[had_room]
    return max(float(np.median(times)) if len(times) else 0.0 for times in (until_put, until_next))


def _before(table: BatchTable, rows: Rows) -> Int64Array:
    """What that thread did last before each: it took a batch, or received one that came before its turn."""
    done = np.concatenate((table.consumed_ns, table.arrived_ns))
    done = np.sort(done[known(done)])
    number = np.searchsorted(done, table.deserialise_ns[rows], side="right") - 1
    return int64(np.where(number >= 0, done[np.maximum(number, 0)], table.deserialise_ns[rows]))


def _fed_waits(trace: Trace) -> Intervals:
    """The training thread's waits for that thread: of the iterator with most."""
    return max(find_fed_waits(trace).values(), key=len, default=Intervals.union_of(()))
