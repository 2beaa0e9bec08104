"""How many bytes building batches read, and how many of these came from storage.

The system's own count is taken for one batch in a while only. Who reads a whole shard for every tenth batch may never
be caught at it. So where spans of reads have sizes (each kind's mean, for those that were not measured), those of all
batches count, and the system's for what they do not show. What came from storage is not known where the counted batches
read next to nothing of all that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.trace import BatchCosts, BatchTable, Trace

BoolArray = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

TYPICAL: Final = 0.5
"""Part of the mean batch's reading that the counted ones do at least, to stand for all."""


def find_worker_reads(
    trace: Trace, tree: StageTree, table: BatchTable, rows: BoolArray, costs: BatchCosts
) -> tuple[int | None, int | None]:
    """Bytes that reads of these batches returned, and what of that came from storage; None: not known."""
    counted = rows & (costs.read_chars >= 0) & (costs.read_bytes >= 0)
    if not counted.any():
        return None, None
    scale = int(rows.sum()) / int(counted.sum())
    returned, stored = (float(column[counted].sum()) for column in (costs.read_chars, costs.read_bytes))
    seen = _seen(trace, tree, table)
    of_all, of_counted = float(seen[rows].sum()), float(seen[counted].sum())
    if counted.sum() == rows.sum() or not of_all:
        return round(returned * scale), round(stored * scale)
    read = of_all + max(0.0, returned - of_counted) * scale
    if of_counted * scale < TYPICAL * of_all or not returned:
        return round(read), None
    return round(read), round(read * min(1.0, stored / returned))


def _seen(trace: Trace, tree: StageTree, table: BatchTable) -> Floats:
    """Per batch, what spans show of it."""
    seen = np.zeros(len(table), dtype=np.float64)
    spans, read = _reads(trace, tree)
    for track, process in trace.worker_tracks().items():
        mine = np.flatnonzero((table.pid == process.pid) & known(table.started_ns))
        mine = mine[np.argsort(table.started_ns[mine], kind="stable")]
        here = tree.track[spans] == track
        start = tree.start_ns[spans[here]]
        at = np.searchsorted(table.started_ns[mine], start, side="right") - 1
        ended = table.finished_ns[mine[at]] if len(mine) else start
        inside = (at >= 0) & (~known(ended) | (start < ended))
        np.add.at(seen, mine[at[inside]], read[here][inside])
    return seen


def _reads(trace: Trace, tree: StageTree) -> tuple[npt.NDArray[np.intp], Floats]:
    """Spans that read, of those inside one another the outermost that have sizes, and how many bytes each did."""
    sizes, nodes = trace.span_facts.bytes, len(tree.paths)
    measured = np.flatnonzero(sizes >= 0)
    of = tree.node[measured]
    mean = np.bincount(of, sizes[measured], nodes) / np.maximum(1, np.bincount(of, None, nodes))
    outermost = list(_outermost({path: node for node, path in enumerate(tree.paths) if mean[node] > 0}))
    spans = np.flatnonzero(np.isin(tree.node, outermost))
    return spans, np.where(sizes[spans] >= 0, sizes[spans], mean[tree.node[spans]])


def _outermost(nodes: Mapping[Path, int]) -> Iterator[int]:
    """Those of the nodes that read, and lie in no other of these."""
    reading = {path: node for path, node in nodes.items() if path[-1].kind == "read"}
    for path, node in reading.items():
        if not any(path[:depth] in reading for depth in range(1, len(path))):
            yield node
