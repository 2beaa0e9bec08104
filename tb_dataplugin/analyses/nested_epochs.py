"""Epochs of a DataLoader that begin while the loop still takes batches of an earlier one: an evaluation of the same
loader inside a step, say.
"""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.workers import BatchTimes


def has_nested_epochs(batches: BatchTimes | None, loader: int) -> bool:
    """Whether a batch of it was taken after one of a later epoch, as far as DataLoader workers left batches."""
    if batches is None:
        return False
    table = batches.table
    mine = np.flatnonzero((table.loader == loader) & known(table.consumed_ns))
    epochs = table.epoch[mine[np.argsort(table.consumed_ns[mine], kind="stable")]]
    return bool((np.diff(epochs) < 0).any())
