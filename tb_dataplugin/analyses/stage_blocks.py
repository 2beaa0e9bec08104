"""Self time of each stage block by block, from which the noise of its mean is estimated.

A block is one or more whole batches of one DataLoader worker. Calls of one batch share their luck (one process, one
moment), so taking each call as a block would claim to know more than is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array, Window, int64

MOST_BLOCKS = 64
"""About so many in all, enough to know a variance to a fifth; keeps the report small."""

SLICES = 32
"""Blocks of a trace that has neither batch numbers nor steps: equal parts of the window."""


@dataclass(frozen=True, slots=True)
class StageBlocks:
    """Equally long columns, by worker and time. `worker` numbers the rows of the trace.

    `cpu_ns` is without child stages, None when it was not recorded for every call.
    """

    worker: Int64Array
    count: Int64Array
    self_ns: Int64Array
    cpu_ns: Int64Array | None


def find_stage_blocks(
    tree: StageTree, facts: SpanFacts, window: Window, steps: Steps | None, chosen: npt.NDArray[np.bool_]
) -> Mapping[Path, StageBlocks]:
    """Blocks of every stage with a span that is `chosen`, of those in the window, by its path."""
    inside = np.flatnonzero(chosen)
    if not len(inside):
        return {}
    block, worker = _blocks(tree, facts, window, steps, inside)
    key = tree.node[inside] * len(worker) + block
    cells, place = np.unique(key, return_inverse=True)  # most stages have a call in few of the blocks
    node, block = np.divmod(cells, len(worker))

    def table(values: Int64Array) -> Int64Array:
        return int64(np.bincount(place, values, minlength=len(cells)).round())

    count, self_ns = table(np.ones(len(place), dtype=np.int64)), table(tree.self_ns[inside])
    cpu = table(facts.cpu_ns[inside])
    own = np.maximum(cpu - _of_children(tree, cells, cpu, len(worker)), 0)
    unknown = set(tree.node[inside][facts.cpu_ns[inside] < 0].tolist())
    blocks = {}
    for number, rows in groups(node, np.arange(len(cells))):
        known = None if number in unknown else own[rows]
        blocks[tree.paths[number]] = StageBlocks(worker[block[rows]], count[rows], self_ns[rows], known)
    return blocks


def _of_children(tree: StageTree, cells: Int64Array, values: Int64Array, columns: int) -> Int64Array:
    """Per cell (stage and block), the sum of the same block's values over the stages right inside that stage."""
    numbers = {path: number for number, path in enumerate(tree.paths)}
    above = int64([numbers.get(path[:-1], -1) for path in tree.paths])
    node, block = np.divmod(cells, columns)
    target = above[node] * columns + block
    place = np.minimum(np.searchsorted(cells, target), max(len(cells) - 1, 0))
    hits = (above[node] >= 0) & (cells[place] == target)
    total = np.zeros(len(cells), dtype=np.int64)
    np.add.at(total, place[hits], np.maximum(values[hits], 0))
    return total


def _blocks(
    tree: StageTree, facts: SpanFacts, window: Window, steps: Steps | None, inside: npt.NDArray[np.intp]
) -> tuple[Int64Array, Int64Array]:
    """For each span its block, and for each block its worker.

    Spans are grouped by batch; where they carry no batch number by step, and without steps by time.
    """
    start, batch = tree.start_ns[inside], facts.batch[inside]
    worker = _workers(tree.track[inside], start)
    keys = np.stack((worker, np.where(batch < 0, -1, facts.epoch[inside]), batch))
    keys[2] = np.where(batch < 0, _steps_or_slices(start, window, steps), batch)
    distinct, group = np.unique(keys, axis=1, return_inverse=True)
    first = np.full(distinct.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(first, group.ravel(), start)
    order = np.lexsort((first, distinct[0]))
    owner = distinct[0][order]
    first_row, last_row = np.searchsorted(owner, owner), np.searchsorted(owner, owner, side="right")
    makers = max(1, len(np.unique(worker[batch >= 0])))
    together = -(-(last_row - first_row) * makers // MOST_BLOCKS)
    position = np.arange(len(order)) - first_row
    opens = (position % together) == 0
    block_of_group = np.empty(len(order), dtype=np.int64)
    block_of_group[order] = np.cumsum(opens) - 1
    return int64(block_of_group[group.ravel()]), int64(owner[opens])


def _workers(track: npt.NDArray[np.int32], start: Int64Array) -> Int64Array:
    """Numbers the rows of the trace by their first span: the file's order says nothing."""
    rows, which = np.unique(track, return_inverse=True)
    first, last = np.full(len(rows), start.max()), np.full(len(rows), start.min())
    np.minimum.at(first, which, start)
    np.maximum.at(last, which, start)
    number = np.empty(len(rows), dtype=np.int64)
    number[np.lexsort((last, first))] = np.arange(len(rows))
    return int64(number[which])


def _steps_or_slices(start: Int64Array, window: Window, steps: Steps | None) -> Int64Array:
    if steps is not None:
        return np.maximum(np.searchsorted(steps.start_ns, start, side="right") - 1, 0).astype(np.int64)
    return (start - window.start_ns) * SLICES // max(1, window.duration_ns)
