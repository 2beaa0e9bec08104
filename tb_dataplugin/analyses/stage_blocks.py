"""Self time of each stage block by block, from which the noise of its mean can be told.

A block is one or more whole batches of one DataLoader worker. Calls of one batch are alike in their luck (one process,
one moment), so that single calls would pretend to more knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.trace import SpanFacts

MOST_BLOCKS = 64
"""About so many in all, enough to know a variance to a fifth; keeps the report small."""

SLICES = 32
"""Blocks of a trace that has neither batch numbers nor steps: equal parts of the window."""


@dataclass(frozen=True, slots=True)
class StageBlocks:
    """Equally long columns, by worker and time. `worker` tells the rows of the trace apart.

    `cpu_ns` is without child stages, None when it was not recorded for every call.
    """

    worker: Int64Array
    count: Int64Array
    self_ns: Int64Array
    cpu_ns: Int64Array | None


def find_stage_blocks(
    tree: StageTree, facts: SpanFacts, window: Window, steps: Steps | None
) -> Mapping[Path, StageBlocks]:
    """Blocks of every stage that has a call in the window, by its path."""
    inside = np.flatnonzero((tree.start_ns >= window.start_ns) & (tree.start_ns < window.end_ns))
    if not len(inside):
        return {}
    block, worker = _blocks(tree, facts, window, steps, inside)
    node, columns = tree.node[inside], len(worker)

    def table(values: npt.NDArray[np.int64] | None) -> Int64Array:
        summed = np.bincount(node * columns + block, values, minlength=len(tree.paths) * columns)
        return int64(summed.reshape(len(tree.paths), columns).round())

    count, self_ns, cpu = table(None), table(tree.self_ns[inside]), table(facts.cpu_ns[inside])
    unknown = {tree.paths[number] for number in np.unique(node[facts.cpu_ns[inside] < 0]).tolist()}
    found = {}
    for number in np.unique(node).tolist():
        path, used = tree.paths[number], count[number] > 0
        own = None if path in unknown else _without_children(tree, cpu, number)[used]
        found[path] = StageBlocks(worker[used], count[number][used], self_ns[number][used], own)
    return found


def _without_children(tree: StageTree, cpu: Int64Array, number: int) -> Int64Array:
    path = tree.paths[number]
    children = [other for other, below in enumerate(tree.paths) if below[:-1] == path]
    own: Int64Array = np.maximum(cpu[number] - np.maximum(cpu[children], 0).sum(axis=0), 0)
    return own


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
