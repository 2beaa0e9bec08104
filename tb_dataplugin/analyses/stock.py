"""Whether the loop lived on batches from before the window, and whether that is because an epoch came to its end.

With every batch that the loop takes, the loader draws the indices of another one. At the end of an epoch none are left:
the loop takes the last batches out of the queue while DataLoader workers have nothing to build. What these built in
such a window is less than its steps need. In the middle of an epoch a batch more or less is chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.smoothing import BoolArray
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable


@dataclass(frozen=True, slots=True)
class Stock:
    """Batches of the window. `taken`: by the loop. `built`: parts of batches included. `last`: of those taken, in whose
    stead no others were drawn, as none were left. `build_ns`: what building one of those taken took, on average,
    whenever that was; 0.0 where it is not known.
    """

    taken: float
    built: float
    last: int
    build_ns: float

    @property
    def taken_per_built(self) -> float | None:
        return self.taken / self.built if self.built else None

    @property
    def spared_ns(self) -> float:
        """What workers did not build of what the loop took, as no indices were left. 0.0 in the middle of an epoch."""
        return min(max(0.0, self.taken - self.built), self.last) * self.build_ns


def find_stock(batches: BatchTimes, window: Window, mine: BoolArray, *, in_turn: bool) -> Stock:
    """Of the batches in these rows. `in_turn`: the worker whose batch is taken gets the next indices."""
    table = batches.table
    taken = np.flatnonzero(mine & taken_in(table, window))
    whole = taken[known(table.started_ns[taken]) & known(table.finished_ns[taken])]
    build_ns = float((table.finished_ns[whole] - table.started_ns[whole]).mean()) if len(whole) else 0.0
    return Stock(len(taken), _built(table, window, mine), _last(batches, mine, taken, in_turn=in_turn), build_ns)


def taken_in(table: BatchTable, window: Window) -> BoolArray:
    return (table.consumed_ns >= window.start_ns) & (table.consumed_ns < window.end_ns)


def _built(table: BatchTable, window: Window, mine: BoolArray) -> float:
    whole = mine & known(table.started_ns) & known(table.finished_ns) & (table.finished_ns > table.started_ns)
    start, end = table.started_ns[whole], table.finished_ns[whole]
    inside = np.clip(end, window.start_ns, window.end_ns) - np.clip(start, window.start_ns, window.end_ns)
    built = float((inside / (end - start)).sum())
    begun = mine & known(table.started_ns) & ~known(table.finished_ns)  # as the window closed: as long as the others
    left = np.clip(window.end_ns - table.started_ns[begun], 0, window.duration_ns)
    if len(start):
        built += float(np.minimum(left / (end - start).mean(), 1.0).sum())
    return built


def _last(batches: BatchTimes, mine: BoolArray, taken: Int64Array, *, in_turn: bool) -> int:
    """How many of these rows were asked for after the last indices of their worker and epoch were drawn. 0 where it had
    a batch to build after the last of them: it may have got indices that it did not come to before the capture ended.
    Not in turn any of the workers may have got them.
    """
    table = batches.table
    until = np.where(known(table.finished_ns), table.finished_ns, np.iinfo(np.int64).max)
    drawn = np.where(known(table.drawn_ns), table.drawn_ns, table.started_ns)
    worker = table.worker if in_turn else np.zeros_like(table.worker)
    kinds, place = np.unique(np.stack([table.epoch, worker], axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    ended, drew, took = (np.full(len(kinds), UNKNOWN_NS) for _ in range(3))
    np.maximum.at(ended, place[mine], until[mine])
    np.maximum.at(drew, place[mine], drawn[mine])
    np.maximum.at(took, place[taken], table.consumed_ns[taken])
    is_over = (ended <= took)[place[taken]]
    return int((is_over & (batches.wait_start_ns[taken] > drew[place[taken]])).sum())
