"""Finished batches that were held back by an earlier one, of the same DataLoader and pass over it.

Only these come out in order: a batch waits neither for one of another DataLoader, nor for one of another pass. It is
held back while the training thread waits for an earlier batch that is not finished. While the training thread is
elsewhere (in its step, in an evaluation) nobody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable, LoaderInfo


def unordered_loaders(loaders: Sequence[LoaderInfo]) -> frozenset[int]:
    """Whose batches are taken as they come: those with ``in_order=False``."""
    return frozenset(number for number, one in enumerate(loaders) if one.in_order is False)


def head_of_line_times(
    table: BatchTable,
    wait_start_ns: Int64Array,
    wait_end_ns: Int64Array,
    unordered: frozenset[int],
    within: Window | None = None,
) -> Int64Array:
    """Per batch, the part of its time in queue in which it was held back; unknown without its finish or its wait.

    Of `unordered` loaders none is. `within`: only what lies there counts.
    """
    held_back = np.full(len(table), UNKNOWN_NS)
    ready = known(wait_start_ns) & known(table.finished_ns)
    held_back[ready] = 0
    for rows in _passes(table, ready):
        if int(table.loader[rows[0]]) not in unordered:
            late = _waits_for_unfinished(table, rows, wait_start_ns, wait_end_ns)
            late = late if within is None else late.clip(within)
            finished = table.finished_ns[rows]
            held_back[rows] = late.overlap(finished, np.maximum(wait_start_ns[rows], finished))
    return held_back


def waits_with_later_finished(
    table: BatchTable, wait_start_ns: Int64Array, wait_end_ns: Int64Array, loader: int
) -> Intervals:
    """Waits for a batch of that loader that is not finished, during which a later one of its pass is."""
    ready = known(wait_start_ns) & known(table.finished_ns) & (table.loader == loader)
    return Intervals.union_of(
        Intervals.union(table.finished_ns[rows], wait_start_ns[rows]).intersect(
            _waits_for_unfinished(table, rows, wait_start_ns, wait_end_ns)
        )
        for rows in _passes(table, ready)
    )


def waits_for_unfinished(table: BatchTable, wait_start_ns: Int64Array, wait_end_ns: Int64Array) -> Intervals:
    """Parts of the waits in which the batch that they received was not finished."""
    rows = np.flatnonzero(known(wait_start_ns) & known(table.finished_ns))
    return _waits_for_unfinished(table, rows, wait_start_ns, wait_end_ns)


def _passes(table: BatchTable, chosen: npt.NDArray[np.bool_]) -> Iterator[Int64Array]:
    """The chosen rows, by loader and pass."""
    rows = np.flatnonzero(chosen)
    loader, epoch = table.loader[rows], table.epoch[rows]
    order = np.lexsort((epoch, loader))
    is_new = (np.diff(loader[order]) != 0) | (np.diff(epoch[order]) != 0)
    return (part for part in np.split(rows[order], np.flatnonzero(is_new) + 1) if len(part))


def _waits_for_unfinished(
    table: BatchTable, rows: Int64Array, wait_start_ns: Int64Array, wait_end_ns: Int64Array
) -> Intervals:
    """Parts of the waits in which the batch that they received was not finished: only that holds up later ones.

    The sampler, an iterator around the loader, and receiving a finished batch take place in the same waits.
    """
    start, end = wait_start_ns[rows], wait_end_ns[rows]
    return Intervals.union(start, np.clip(table.finished_ns[rows], start, end))
