"""Which samples one rank read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.model.intervals import Int64Array, int64

Rows = npt.NDArray[np.intp]

MOST_INDICES: Final = 65_536
"""Of one capture. More add nothing to what is said of them."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Dataset index and epoch of each sample that a capture saw, by start; the first `MOST_INDICES`. `dataset` names
    the dataset's class. `batch`: its number in the epoch. `replacement`: the sampler may draw a sample twice.
    """

    dataset: str
    index: Int64Array
    epoch: Int64Array
    batch: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    replacement: bool = False

    def __len__(self) -> int:
        return len(self.index)


def read_indices(results: Results) -> Indices | None:
    """None where samples have no index: an iterable dataset, a plain capture, batches fetched whole; and where several
    loaders read in the training process, so that nobody knows whose indices they are.
    """
    tree, facts = results.tree, results.trace.span_facts
    is_sample = np.array([_is_outermost_sample(path) for path in tree.paths], dtype=np.bool_)
    if not is_sample.any():
        return None
    rows = np.flatnonzero(is_sample[tree.node] & (facts.index >= 0) & (facts.epoch >= 0))
    rows = _of_one_loader(results, rows)
    if not len(rows):
        return None
    rows = rows[np.argsort(tree.start_ns[rows], kind="stable")][:MOST_INDICES]
    dataset = results.settings.dataset if results.settings else ""
    replacement = bool(results.settings and results.settings.replacement)
    return Indices(dataset, facts.index[rows], facts.epoch[rows], facts.batch[rows], replacement)


def _is_outermost_sample(path: Path) -> bool:
    return path[-1].kind == "sample" and all(stage.kind != "sample" for stage in path[:-1])


def _of_one_loader(results: Results, rows: Rows) -> Rows:
    """Those of the loader with most samples."""
    pipeline = results.trace.info.pipeline
    if pipeline is None or len(pipeline.loaders) < 2:
        return rows
    loader_of = {track: worker.loader for track, worker in results.trace.worker_tracks().items()}
    loader = int64([loader_of.get(track, -1) for track in results.tree.track[rows].tolist()])
    if not (loader >= 0).any():
        return rows[:0]
    most: Rows = rows[loader == np.bincount(loader[loader >= 0]).argmax()]
    return most
