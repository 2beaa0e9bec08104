"""Calls of stages that are far rarer than batches and have most of the data wait: a chunk that is unpacked, a file
that is opened, once for all samples in it.

A dataset that keeps what such a call returned lives on the order of its samples. DataLoader workers take consecutive
batches in turns, so each of them makes the call again. What each of them does once in an epoch, for its first batch, is
its start (a vocabulary, an index), and no chunk of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path, StageRow

KINDS: Final = frozenset[StageKind](("read", "decode", "transform", "user"))

LEAST_BATCHES: Final = 4
"""For each call. Of fewer, as many as there are workers are hardly ever built at once."""

MOST_OF_WAIT: Final = 0.5


@dataclass(frozen=True, slots=True)
class KeptLoads:
    """`paths`: the outermost stages of such calls. `stage`: the one that has most of the data wait, `calls` of it for
    so many `batches`, by `workers`; 0: by the training thread.
    """

    paths: tuple[Path, ...]
    stage: Stage
    calls: int
    batches: int
    workers: int

    def has(self, path: Path) -> bool:
        """It is time of such a call."""
        return any(path[: len(own)] == own for own in self.paths)

    def times_with(self, workers: int) -> float:
        """How many times as many calls so many workers make, if each of them makes each."""
        kept_for = self.batches / self.calls * max(1, self.workers)
        return min(max(1, workers), kept_for) / min(max(1, self.workers), kept_for)


def find_kept_loads(results: Results) -> KeptLoads | None:
    """None where there are no such calls, or most of the data wait is something else."""
    rows, batches = results.loop.stages, len(results.loop.waits)
    rare = {row.path: row for row in rows if _is_rare(row, batches) and not _is_start(results, row.path)}
    outermost = {path: row for path, row in rare.items() if not any(above in rare for above in _above(path))}
    waits = {path: _wait_ns(rows, path) for path in outermost}
    if results.trace.info.mode != "train" or not sum(waits.values()) or results.settings is None:
        return None
    if sum(waits.values()) < MOST_OF_WAIT * results.loop.waits.total_ns:
        return None
    most = outermost[max(waits, key=waits.__getitem__)]
    return KeptLoads(tuple(outermost), most.stage, most.count, batches, results.settings.num_workers or 0)


def _is_rare(row: StageRow, batches: int) -> bool:
    """Of a dataset with indices: parts of another kind of dataset are divided among its workers, if anything."""
    in_sample = any(stage.kind == "sample" for stage in row.path)
    return in_sample and row.stage.kind in KINDS and row.has_index and 0 < row.count * LEAST_BATCHES <= batches


def _is_start(results: Results, path: Path) -> bool:
    """Whether all of its calls are for the first batches of DataLoader workers, one for each worker and epoch."""
    tree, facts = results.tree, results.trace.span_facts
    nodes = [number for number, one in enumerate(tree.paths) if one == path]
    rows = np.flatnonzero(np.isin(tree.node, nodes))
    workers = results.settings.num_workers if results.settings is not None else None
    if not len(rows) or not workers:
        return False
    calls = np.stack((tree.track[rows], facts.epoch[rows]), axis=1)
    is_first = (facts.batch[rows] >= 0) & (facts.batch[rows] < workers)
    return bool(is_first.all()) and len(np.unique(calls, axis=0)) == len(rows)


def _above(path: Path) -> Iterator[Path]:
    return (path[:length] for length in range(1, len(path)))


def _wait_ns(rows: tuple[StageRow, ...], path: Path) -> int:
    """That the calls caused, with what they call."""
    return sum(row.data_wait_ns or 0 for row in rows if row.path[: len(path)] == path)
