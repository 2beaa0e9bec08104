"""What the DataLoader workers of another DataLoader than the loop's do while the loop waits for its batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.worker_costs import WorkerCosts, find_worker_costs
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class OtherBuilding:
    """`built_us`: in which its batches were built that were received in the window, all together. `meanwhile_us`: how
    long each of its DataLoader workers built while the loop waited, on average. `costs`: of building; None: not known.
    """

    built_us: float = 0.0
    meanwhile_us: float = 0.0
    costs: WorkerCosts | None = None


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
        built_us, meanwhile_ns / loader.num_workers / 1e3, None if isinstance(costs, Unavailable) else costs
    )
