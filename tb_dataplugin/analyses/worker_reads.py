"""How many bytes building batches read, and how many of these came from storage.

The system's own count is taken for one batch in a while only. Who reads a whole shard for every tenth batch may never
be caught at it, or twice as often as it does. So where spans of reads have sizes, those of all batches count, and the
system's for what they do not show. A batch, or a span of a stage, that was not measured is taken to read what that one
of the measured did that took most nearly as long. What came from storage is not known where the counted batches read
next to nothing of all that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import BatchCosts, BatchTable, Trace

BoolArray = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

TYPICAL: Final = 0.5
"""Part of the mean batch's reading that the counted ones do at least, to stand for all."""

NOT_MEASURED: Final = -1.0


def find_worker_reads(
    trace: Trace, tree: StageTree, table: BatchTable, rows: BoolArray, costs: BatchCosts
) -> tuple[int | None, int | None]:
    """Bytes that reads of these batches returned, and what of that came from storage; None: not known."""
    counted = rows & (costs.read_chars >= 0) & (costs.read_bytes >= 0)
    if not counted.any():
        return None, None
    scale = int(rows.sum()) / int(counted.sum())
    seen = _seen(trace, tree, table)
    beside, returned, stored = (
        _of_all(np.where(counted, column, NOT_MEASURED), table, rows)
        for column in (np.maximum(costs.read_chars - seen, 0.0), costs.read_chars, costs.read_bytes)
    )
    of_all, of_counted = float(seen[rows].sum()), float(seen[counted].sum())
    read = of_all + beside
    if of_counted * scale < TYPICAL * of_all:
        return round(read), None
    return round(read), round(read * min(1.0, stored / returned)) if returned else 0


def _of_all(values: Floats, table: BatchTable, rows: BoolArray) -> float:
    return float(_as_those_alike(values[rows], (table.finished_ns - table.started_ns)[rows]).sum())


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
    sizes = trace.span_facts.bytes
    sized = np.unique(tree.node[sizes > 0]).tolist()
    outermost = list(_outermost({path: node for node, path in enumerate(tree.paths) if node in sized}))
    spans = np.flatnonzero(np.isin(tree.node, outermost))
    read = sizes[spans].astype(np.float64)
    for node in outermost:
        here = np.flatnonzero(tree.node[spans] == node)
        read[here] = _as_those_alike(read[here], tree.end_ns[spans[here]] - tree.start_ns[spans[here]])
    return spans, read


def _as_those_alike(sizes: Floats, length_ns: Int64Array) -> Floats:
    """Each that was not measured (below 0) as the measured one whose length is nearest, as a ratio."""
    length = np.log(np.maximum(1, length_ns))
    measured = np.flatnonzero(sizes >= 0)
    measured = measured[np.argsort(length[measured], kind="stable")]
    middle = (length[measured][1:] + length[measured][:-1]) / 2
    nearest = sizes[measured][np.searchsorted(middle, length)]
    return np.where(sizes >= 0, sizes, nearest)


def _outermost(nodes: Mapping[Path, int]) -> Iterator[int]:
    """Those of the nodes that read, and lie in no other of these."""
    reading = {path: node for path, node in nodes.items() if path[-1].kind == "read"}
    for path, node in reading.items():
        if not any(path[:depth] in reading for depth in range(1, len(path))):
            yield node
