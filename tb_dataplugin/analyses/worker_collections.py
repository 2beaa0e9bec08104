"""Python's garbage collector in DataLoader workers: which of their spans its long runs fell on, and how much of a
stage's time it has.

A worker says how long it collected while it built each batch, not when. So what a span has is a lower bound: of the
time that its batch collected, what the rest of the batch has no room for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import Stage
from tb_dataplugin.analyses.collector import FULL_NS
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import BatchCosts, BatchTable, Trace

NONE: Final = -1


@dataclass(frozen=True, slots=True)
class StageCollecting:
    """Self time of a stage's calls in batches of which the collector's time is known, and how much of it the collector
    has at least.
    """

    self_ns: int
    collected_ns: int

    @property
    def share(self) -> float:
        return self.collected_ns / self.self_ns if self.self_ns else 0.0


@dataclass(frozen=True, slots=True)
class LongCollections:
    """Batches of DataLoader workers with long collections, and the most that one of them collected. Of those whose page
    faults were measured, which no worker built first: mean page faults, and their share of time in the kernel; None
    where there are none.
    """

    batches: int
    most_ns: int
    minor_faults: float | None
    system: float | None

    @property
    def most_us(self) -> float:
        return self.most_ns / 1e3


def find_long_collections(
    table: BatchTable, costs: BatchCosts, counted: npt.NDArray[np.bool_], later: npt.NDArray[np.bool_]
) -> LongCollections | None:
    """Among the counted batches; `later`: of them, those that no worker built first. None without any."""
    collected = long_collections(table, costs)
    rows = counted & (collected > 0)
    if not rows.any():
        return None
    measured = rows & later & (costs.minor_faults >= 0) & (costs.system_cpu_ns >= 0)
    length = table.finished_ns - table.started_ns
    return LongCollections(
        batches=int(rows.sum()),
        most_ns=int(costs.gc_ns[rows].max()),
        minor_faults=float(costs.minor_faults[measured].mean()) if measured.any() else None,
        system=float(costs.system_cpu_ns[measured].sum() / length[measured].sum()) if measured.any() else None,
    )


def long_collections(table: BatchTable, costs: BatchCosts) -> Int64Array:
    """By batch, what it collected beyond the batches of its loader in general (ns); 0 where that is less than a full
    collection, or not known. Where most batches have one, it is no exception.
    """
    found = np.zeros(len(table), dtype=np.int64)
    for _, rows in groups(table.loader, np.flatnonzero(costs.gc_ns >= 0)):
        found[rows] = costs.gc_ns[rows] - int(np.median(costs.gc_ns[rows]))
    found[found < FULL_NS] = 0
    return found


def collected_by_span(trace: Trace, tree: StageTree) -> Int64Array:
    """By span, how much of it (ns) is in long collections of its DataLoader worker, at least; 0 for all other spans.

    The rest of the batch is taken to have had as much time as usual for its own work; what it took beyond that may
    have been the collector.
    """
    found = np.zeros(len(tree.node), dtype=np.int64)
    pipeline = trace.info.pipeline
    table, costs = (pipeline.batches, pipeline.batch_costs) if pipeline else (None, None)
    if table is None or costs is None:
        return found
    collected = long_collections(table, costs)
    if not collected.any():
        return found
    row = batch_of_span(trace, tree, table)
    length, build = tree.end_ns - tree.start_ns, table.finished_ns - table.started_ns
    inside, usual = np.flatnonzero(row != NONE), np.zeros(len(tree.node), dtype=np.float64)
    for _, here in groups(tree.node, inside):
        usual[here] = np.median(length[here])
    usual_build = np.zeros(len(table), dtype=np.float64)
    for _, rows in groups(table.loader, np.unique(row[inside])):
        usual_build[rows] = np.median(build[rows])
    hit = inside[collected[row[inside]] > 0]
    batch = row[hit]
    others_more = (build[batch] - length[hit]) - (usual_build[batch] - usual[hit])
    found[hit] = np.clip(collected[batch] - np.maximum(0.0, others_more), 0.0, tree.took_ns[hit]).astype(np.int64)
    return found


def without_collections(
    tree: StageTree, counted: npt.NDArray[np.bool_], collected: Int64Array
) -> Mapping[Path, tuple[int, int]]:
    """By chain of stages that has any: what its counted spans collected (ns, as `collected_by_span`), and the longest
    of them without it.
    """
    took, found = tree.took_ns, {}
    for node in np.unique(tree.node[counted & (collected > 0)]).tolist():
        here = np.flatnonzero(counted & (tree.node == node))
        found[tree.paths[node]] = (int(collected[here].sum()), int((took[here] - collected[here]).max()))
    return found


def collecting_by_stage(
    trace: Trace, tree: StageTree, counted: npt.NDArray[np.bool_]
) -> Mapping[Stage, StageCollecting]:
    """Of the spans that are counted, in DataLoader workers."""
    pipeline = trace.info.pipeline
    table, costs = (pipeline.batches, pipeline.batch_costs) if pipeline else (None, None)
    if table is None or costs is None or not (costs.gc_ns > 0).any():
        return {}
    row = batch_of_span(trace, tree, table)
    mine = np.flatnonzero(counted & (row != NONE))
    mine = mine[costs.gc_ns[row[mine]] >= 0]
    stages = list(dict.fromkeys(path[-1] for path in tree.paths))
    number = np.array([stages.index(path[-1]) for path in tree.paths], dtype=np.int64)[tree.node]
    build, found = table.finished_ns - table.started_ns, {}
    for stage, here in groups(number, mine):
        spent = np.zeros(len(table), dtype=np.int64)
        np.add.at(spent, row[here], tree.self_ns[here])
        rows = np.unique(row[here])
        least = np.maximum(0, costs.gc_ns[rows] - np.maximum(0, build[rows] - spent[rows]))
        least = np.minimum(least, spent[rows])
        found[stages[stage]] = StageCollecting(int(spent[rows].sum()), int(least.sum()))
    return found


def batch_of_span(trace: Trace, tree: StageTree, table: BatchTable) -> Int64Array:
    """By span, the row of the batch that its DataLoader worker built then; `NONE` outside of batches."""
    found = np.full(len(tree.node), NONE, dtype=np.int64)
    built = known(table.started_ns) & known(table.finished_ns)
    for track, process in trace.worker_tracks().items():
        mine = np.flatnonzero(built & (table.pid == process.pid))
        if not len(mine):
            continue
        mine = mine[np.argsort(table.started_ns[mine], kind="stable")]
        spans = np.flatnonzero(tree.track == track)
        at = np.searchsorted(table.started_ns[mine], tree.start_ns[spans], side="right") - 1
        row = mine[np.maximum(at, 0)]
        inside = (at >= 0) & (tree.start_ns[spans] < table.finished_ns[row])
        found[spans[inside]] = row[inside]
    return found
