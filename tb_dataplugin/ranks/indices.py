"""Which samples one rank read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.intervals import Int64Array

MOST_INDICES: Final = 65_536
"""Of one capture. More add nothing to what is said of them."""


@dataclass(frozen=True, slots=True)
class Indices:
    """Dataset index and epoch of each sample that a capture saw, by start; the first `MOST_INDICES`. `dataset` names
    the dataset's class.
    """

    dataset: str
    index: Int64Array
    epoch: Int64Array

    def __len__(self) -> int:
        return len(self.index)


def read_indices(results: Results) -> Indices | None:
    """None where samples have no index: an iterable dataset, a plain capture, batches fetched whole."""
    tree, facts = results.tree, results.trace.span_facts
    is_sample = np.array([path[-1].kind == "sample" and len(path) == 1 for path in tree.paths], dtype=np.bool_)
    if not is_sample.any():
        return None
    rows = np.flatnonzero(is_sample[tree.node] & (facts.index >= 0) & (facts.epoch >= 0))
    if not len(rows):
        return None
    rows = rows[np.argsort(tree.start_ns[rows], kind="stable")][:MOST_INDICES]
    dataset = results.settings.dataset if results.settings else ""
    return Indices(dataset, facts.index[rows], facts.epoch[rows])
