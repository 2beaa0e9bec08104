"""Whether samples of stacks give stages the same shares of time as spans do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_hits import OUTSIDE, Hits, SampledTime
from tb_dataplugin.analyses.line_rows import Mask
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Window

LEAST_TO_CHECK: Final = 500
"""Samples in stages: with fewer, shares of stages differ by more than 3 points for no reason."""

MOST_OFF: Final = 0.03
"""Between the share of a stage by samples and by spans."""


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """The shares of stages by samples against those by spans, on the same threads and times.

    `stage` is the one that differs most, by `difference` (a fraction). `checked` counts stages.
    """

    stage: str
    difference: float
    samples: int
    checked: int

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= MOST_OFF


def _counts(tree: StageTree) -> Mask:
    """By node. Waits are left out: they are no stage whose lines anybody asks for."""
    return np.array([path[-1].kind != "wait" for path in tree.paths], dtype=np.bool_)


def in_stages(hits: Hits, tree: StageTree) -> Mask:
    counts = _counts(tree)
    rows: Mask = hits.node != OUTSIDE
    if len(counts):
        rows &= counts[hits.node]
    return rows


def stages_ns(tree: StageTree, window: Window) -> int:
    is_stage = _counts(tree)[tree.node[tree.piece_span]]
    inside = np.minimum(tree.piece_end, window.end_ns) - np.maximum(tree.piece_start, window.start_ns)
    return int(np.maximum(inside, 0)[is_stage].sum())


def check_shares(hits: Hits, spans: SampledTime, tree: StageTree) -> ShareCheck | None:
    counts, rows = _counts(tree), in_stages(hits, tree)
    by_spans = np.where(counts, spans.self_ns, 0).astype(np.float64)
    if rows.sum() < LEAST_TO_CHECK or not by_spans.sum():
        return None
    by_samples = np.zeros(len(tree.paths))
    np.add.at(by_samples, hits.node[rows], hits.weight_ns[rows])
    shares: dict[Stage, float] = {}
    for path, difference in zip(tree.paths, by_samples / by_samples.sum() - by_spans / by_spans.sum(), strict=True):
        shares[path[-1]] = shares.get(path[-1], 0.0) + float(difference)
    worst = max(shares, key=lambda stage: abs(shares[stage]))
    return ShareCheck(worst.name, shares[worst], int(rows.sum()), sum(stage.kind != "wait" for stage in shares))
