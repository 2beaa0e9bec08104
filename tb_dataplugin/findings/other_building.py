"""What the DataLoader workers of another DataLoader than the loop's do while the loop waits for its batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.worker_costs import WorkerCosts, find_worker_costs
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class Pass:
    """One over the other DataLoader, of the window: how long each of its batches took to build, and the time between
    the first one's begin and the last one's arrival in which the loop did not wait for them to be built: it worked, or
    waited for a worker to start.
    """

    built_us: tuple[float, ...]
    beside_us: float

    def least_wait_us(self, workers: int, *, are_whole: bool, needed: float = 1.0) -> float:
        """What the loop waits for these batches, at least, with so many DataLoader workers, whichever builds which: one
        after the other, and none faster than now. `are_whole`: more workers make no other batches of the same samples.
        `needed`: part of the build time that is no waiting for a CPU.
        """
        built, count = sorted(self.built_us), len(self.built_us)
        least = sum(built) / workers
        if are_whole and built:
            least = max(least, built[-1], sum(built[: ceil(count / workers)]))
        return max(0.0, needed * least - self.beside_us)


@dataclass(frozen=True, slots=True)
class OtherBuilding:
    """`built_us`: in which its batches were built that were received in the window, all together. `meanwhile_us`: how
    long each of its DataLoader workers built while the loop waited, on average. `costs`: of building; None: not known.
    `passes`: those over it, where it has workers.
    """

    built_us: float = 0.0
    meanwhile_us: float = 0.0
    costs: WorkerCosts | None = None
    passes: tuple[Pass, ...] = ()

    def least_wait_us(self, workers: int, *, are_whole: bool) -> float:
        """Of all its passes, as `Pass.least_wait_us`. What its workers waited for a CPU does not count, since one may
        be free then.
        """
        needed = 1 - ((self.costs.run_delay if self.costs else None) or 0.0)
        return sum(each.least_wait_us(workers, are_whole=are_whole, needed=needed) for each in self.passes)


def find_other_building(
    results: Results, number: int | None, loader: LoaderInfo | None, waits: Intervals
) -> OtherBuilding:
    """`waits`: the loop's for that loader, without those for its workers to start and to end."""
    if results.workers is None or number is None or loader is None:
        return OtherBuilding()
    batches = results.workers.batches
    table, mine = batches.table, batches.table.loader == number
    received = mine & known(batches.build_ns) & known(batches.wait_start_ns)
    built_us = float(batches.build_ns[received].sum()) / 1e3
    built = mine & known(table.started_ns) & known(table.finished_ns)
    if not loader.num_workers or not built.any():
        return OtherBuilding(built_us)
    meanwhile_ns = int(np.sum(waits.overlap(table.started_ns[built], table.finished_ns[built])))
    costs = find_worker_costs(results.trace, results.tree, results.window, ~mine)
    return OtherBuilding(
        built_us,
        meanwhile_ns / loader.num_workers / 1e3,
        None if isinstance(costs, Unavailable) else costs,
        tuple(_passes(batches, received & built, waits, results.window)),
    )


def _passes(batches: BatchTimes, mine: npt.NDArray[np.bool_], waits: Intervals, window: Window) -> Iterator[Pass]:
    """`mine`: batches that were received in the window. `waits`: as in `find_other_building`."""
    table, edges = batches.table, (window.start_ns, window.end_ns)
    for epoch in np.unique(table.epoch[mine]):
        rows = mine & (table.epoch == epoch)
        begun, ended = (np.clip(at[rows], *edges) for at in (table.started_ns, table.finished_ns))
        waited = waits.intersect(Intervals.union(batches.wait_start_ns[rows], batches.wait_end_ns[rows]))
        span = Intervals.union([begun.min()], [batches.wait_end_ns[rows].max()]).clip(window)
        yield Pass(tuple(((ended - begun) / 1e3).tolist()), span.minus(waited).total_ns / 1e3)
