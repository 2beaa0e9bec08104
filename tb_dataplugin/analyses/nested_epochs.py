"""Epochs of a DataLoader that begin while the loop still takes batches of an earlier one: an evaluation of the same
loader inside a step, say.
"""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, int64


def has_nested_epochs(batches: BatchTimes | None, loader: int) -> bool:
    """Whether a batch of it was taken after one of a later epoch, as far as DataLoader workers left batches."""
    return batches is not None and len(nested_epochs(batches, loader)) > 0


def nested_epochs(batches: BatchTimes, loader: int) -> Int64Array:
    """Numbers of the epochs of it, from which the loop went back to an earlier one."""
    table = batches.table
    mine = np.flatnonzero((table.loader == loader) & known(table.consumed_ns))
    epochs = table.epoch[mine[np.argsort(table.consumed_ns[mine], kind="stable")]]
    later = np.minimum.accumulate(epochs[::-1])[::-1]  # the earliest epoch of which a batch is still taken
    return int64(np.unique(epochs[epochs > later]))


def inside_epochs(results: Results, loader: int) -> Int64Array:
    """These, and those that are gone through within a step that takes batches of another one, too: an evaluation in the
    last step of an epoch goes back to none.
    """
    if results.workers is None or results.steps is None:
        return int64([])
    table = results.workers.batches.table
    mine = (table.loader == loader) & known(table.consumed_ns)
    epochs = table.epoch[mine]
    begin = int64([row.start_ns for row in results.steps.rows])
    step = np.searchsorted(begin, table.consumed_ns[mine], side="right") - 1
    found = set(nested_epochs(results.workers.batches, loader).tolist())
    for epoch in set(epochs.tolist()) - found:
        its = epochs == epoch
        at = step[its].min()
        if 0 <= at == step[its].max() < step.max() and (step[~its] == at).any():
            found.add(epoch)
    return int64(sorted(found))


def begins_inside(results: Results, loader: int, begin_ns: int) -> bool:
    """Whether the epoch whose first batch is waited for from then on is such a one."""
    if results.workers is None:
        return False
    table = results.workers.batches.table
    mine = np.flatnonzero((table.loader == loader) & known(table.consumed_ns) & (table.consumed_ns >= begin_ns))
    if not len(mine):
        return False
    return bool(table.epoch[mine[table.consumed_ns[mine].argmin()]] in inside_epochs(results, loader))


def steps_before(results: Results, loader: int, begin_ns: int) -> float | None:
    """How many steps the epoch had after which another one begins then; without those that begin inside others.

    A batch has its number in the epoch, also where that began before the window. Where DataLoader workers end one after
    the other, numbers are left out: so the batches are counted from the first that is known.
    """
    workers, window = results.workers, results.window
    if workers is None or results.steps is None:
        return None
    table = workers.batches.table
    mine = (table.loader == loader) & known(table.consumed_ns)
    mine &= ~np.isin(table.epoch, inside_epochs(results, loader))
    before = mine & (table.consumed_ns < begin_ns)
    taken = int((mine & (table.consumed_ns >= window.start_ns) & (table.consumed_ns < window.end_ns)).sum())
    if not before.any() or not taken:
        return None
    epoch = before & (table.epoch == table.epoch[before][table.consumed_ns[before].argmax()])
    first = int(table.number[epoch].min())
    return None if first < 0 else (first + int(epoch.sum())) * len(results.steps.rows) / taken
