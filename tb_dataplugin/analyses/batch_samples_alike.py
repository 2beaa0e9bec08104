"""Whether the samples of a batch are alike already, and how much of the batches is padding.

Batches of very different sizes cost what they are padded by, and only that can go if samples of like length share a
batch. What is padding shows where the sizes of samples were recorded: a batch has more bytes than its samples. Samples
that are lists of numbers have no size; how long they take to build then says whether they are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.making import single_samples
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import Trace

MOSTLY: Final = 0.5
"""Part of how samples differ that is between batches; dealt at random, it is 0 on average."""

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BatchSamples:
    """Single samples that belong to batches, by place of their batch. `bytes`: -1 where not known."""

    batch: Int64Array
    bytes: Int64Array
    duration_ns: Int64Array

    @classmethod
    def of(cls, trace: Trace, tree: StageTree, collates: Rows) -> BatchSamples:
        """Each belongs to the next of these collates on its own thread."""
        rows = np.flatnonzero(single_samples(tree))
        batch = np.full(len(rows), -1, dtype=np.int64)
        for track in np.unique(tree.track[collates]).tolist():
            here = np.flatnonzero(tree.track[collates] == track)
            here = here[np.argsort(tree.start_ns[collates[here]], kind="stable")]
            mine = tree.track[rows] == track
            after = np.searchsorted(tree.start_ns[collates[here]], tree.start_ns[rows[mine]])
            batch[mine] = np.append(here, -1)[after]
        rows, batch = rows[batch >= 0], batch[batch >= 0]
        return cls(batch, trace.span_facts.bytes[rows], tree.took_ns[rows])

    def of_batches(self, places: Rows) -> BatchSamples:
        """Of these batches only."""
        kept = np.isin(self.batch, places)
        return BatchSamples(self.batch[kept], self.bytes[kept], self.duration_ns[kept])

    @property
    def has_bytes(self) -> bool:
        return len(self.bytes) > 0 and bool((self.bytes > 0).all())

    def padding_bytes(self, sizes: Floats) -> float | None:
        """What batches have beyond their samples, `sizes` by place of the batch; None where no size is known. Where a
        batch has less, collate makes the values smaller, and so all samples count for less.
        """
        if not self.has_bytes:
            return None
        own = np.bincount(self.batch, self.bytes, minlength=len(sizes))
        known = own > 0
        scale = min(1.0, float((sizes[known] / own[known]).min()))
        return float((sizes[known] - scale * own[known]).sum())

    def ranks_by_batch(self) -> tuple[Rows, Floats] | None:
        """Places of batches, and the mean rank of their samples, where samples differ mostly from batch to batch: by
        size, else by how long they take to build. None where they differ as much within.
        """
        values = self.bytes if self.has_bytes else self.duration_ns
        places, group, count = np.unique(self.batch, return_inverse=True, return_counts=True)
        if len(places) < 2 or len(values) <= len(places):
            return None
        ranks = _ranks(values)
        means = np.bincount(group, ranks) / count
        within = float(((ranks - means[group]) ** 2).sum()) / (len(ranks) - len(places))
        whole = float(ranks.var(ddof=1))
        return (places, means) if whole > 0 and 1 - within / whole > MOSTLY else None


def _ranks(values: Int64Array) -> Floats:
    """Equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    mean: Floats = (np.cumsum(count) - (count - 1) / 2)[place]
    return mean
