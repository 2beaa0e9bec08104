"""Which samples one rank read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.analyses.throughput import main_loader
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import LoaderInfo

Rows = npt.NDArray[np.intp]

MOST_INDICES: Final = 65_536
"""Of one capture. More add nothing to what is said of them."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Dataset index and epoch of each sample that a capture saw, by start; the first `MOST_INDICES`. `dataset` names
    the dataset's class. `batch`: its number in the epoch. `replacement`: the sampler may draw a sample twice. `chosen`:
    whether it was built in the steps that are looked at; empty where all are.
    """

    dataset: str
    index: Int64Array
    epoch: Int64Array
    batch: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    replacement: bool = False
    chosen: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.index)


def read_indices(results: Results, use: LoaderUse | None = None) -> Indices | None:
    """Of the training loop's DataLoader, or that of `use`. None where samples have no index: an iterable dataset, a
    plain capture, batches fetched whole; and where several loaders read in the training process, so that nobody knows
    whose they are.
    """
    tree, facts, use = results.tree, results.trace.span_facts, use or results.use
    is_sample = np.array([_is_outermost_sample(path) for path in tree.paths], dtype=np.bool_)
    if not is_sample.any():
        return None
    rows = _of_main_loader(results, use, np.flatnonzero(is_sample[tree.node] & (facts.index >= 0)))
    rows = rows[np.argsort(tree.start_ns[rows], kind="stable")]
    epoch, batch = _placed(results, use, rows)
    rows, epoch, batch = (values[epoch >= 0][:MOST_INDICES] for values in (rows, epoch, batch))
    if not len(rows):
        return None
    settings = main_loader(results.trace, use)
    dataset, replacement = (settings.dataset, bool(settings.replacement)) if settings else ("", False)
    at, window = tree.start_ns[rows], results.window
    chosen = (at >= window.start_ns) & (at < window.end_ns)
    return Indices(dataset, facts.index[rows], epoch, batch, replacement, chosen if results.selection else chosen[:0])


def _placed(results: Results, use: LoaderUse, rows: Rows) -> tuple[Int64Array, Int64Array]:
    """Epoch and batch of each sample; -1 where unknown. The training process records neither: there the waits for an
    epoch's first batch are marked, and each wait is a batch. Without such a mark several epochs would look like one.
    """
    tree, facts = results.tree, results.trace.span_facts
    epoch, batch = facts.epoch[rows], facts.batch[rows]
    starts = int64([start.wait.start[0] for start in results.whole.starts if len(start.wait)])
    begins = _of_main_waits(results, use, np.sort(starts))
    if not len(begins) or (epoch >= 0).any():
        return epoch, batch
    is_wait = np.array([len(path) == 1 and path[0].kind == "wait" for path in tree.paths], dtype=np.bool_)
    waits = _of_main_waits(results, use, np.sort(tree.start_ns[np.flatnonzero(is_wait[tree.node])]))
    epoch = np.searchsorted(begins, tree.start_ns[rows], side="right")
    ordinal = np.searchsorted(waits, tree.start_ns[rows], side="right")
    first = np.concatenate(([0], np.searchsorted(waits, begins, side="right")))[epoch]
    return int64(epoch), int64(np.where(epoch > 0, ordinal - first, -1))


def _is_outermost_sample(path: Path) -> bool:
    return path[-1].kind == "sample" and all(stage.kind != "sample" for stage in path[:-1])


def _of_main_loader(results: Results, use: LoaderUse, rows: Rows) -> Rows:
    """Those that the training loop's loader read: in its workers, or in its waits where it has none."""
    number, loaders = use.main, _loaders(results)
    if len(loaders) < 2:
        return rows
    workers = {track: worker.loader for track, worker in results.trace.worker_tracks().items()}
    loader = int64([workers.get(track, -1) for track in results.tree.track[rows].tolist()])
    if loaders[number].num_workers != 0:
        built: Rows = rows[loader == number]
        return built
    if sum(other.num_workers == 0 for other in loaders) > 1:
        return rows[:0]
    here: Rows = rows[loader < 0]
    return here[results.whole.waits_of(number).contains(results.tree.start_ns[here])]


def _of_main_waits(results: Results, use: LoaderUse, starts: Int64Array) -> Int64Array:
    """`starts` of waits, without those for batches of other loaders."""
    several = len(_loaders(results)) > 1
    return starts[results.whole.waits_of(use.main).contains(starts)] if several else starts


def _loaders(results: Results) -> Sequence[LoaderInfo]:
    pipeline = results.trace.info.pipeline
    return pipeline.loaders if pipeline else ()
