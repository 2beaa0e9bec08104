"""Samples that a dataset draws again and again until one fits: it builds several for each that it returns.

The parts of a sample are called equally often in it, more than once in most, and as often as a draw with one chance
takes: the numbers of calls are distributed geometrically. Frames of a clip or views of an image are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from annotate.trace_format import Stage, StageKind
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.intervals import Int64Array

PARTS: Final = frozenset[StageKind](("read", "decode", "transform"))

LEAST_SAMPLES: Final = 24
LEAST_PARTS: Final = 2

OFTEN: Final = 1.5
"""Draws per sample from which they are worth a word."""

ALIKE: Final = 0.9
"""Share of samples in which the parts are called equally often, but for one call: the last draw may end early."""

SURE: Final = 1.96
SPREAD: Final = (0.4, 2.5)
"""Within which the variance of the draws may be, over that of a geometric distribution of their mean."""


@dataclass(frozen=True, slots=True)
class DrawnAgain:
    """`draws` for each of `samples`, at most `most`; `wasted`: share of their time in all draws but the last."""

    path: Path
    parts: tuple[Stage, ...]
    samples: int
    draws: float
    most: int
    wasted: float


def find_drawn_again(results: Results) -> DrawnAgain | None:
    """Of the kind of sample with most calls in the window; None where each is built once, or the capture has few."""
    tree, inside = results.tree, results.tree.starts_in(results.window)
    kinds = [node for node, path in enumerate(tree.paths) if path[-1].kind == "sample"]
    calls = {node: np.flatnonzero(inside & (tree.node == node)) for node in kinds}
    node = max(calls, key=lambda each: len(calls[each]), default=None)
    if node is None or len(calls[node]) < LEAST_SAMPLES:
        return None
    return _drawn_again(tree, tree.paths[node], calls[node])


def _drawn_again(tree: StageTree, path: Path, samples: Int64Array) -> DrawnAgain | None:
    counts = {
        tree.paths[node][-1]: _calls_in(tree, samples, node)
        for node in range(len(tree.paths))
        if tree.paths[node][:-1] == path and tree.paths[node][-1].kind in PARTS
    }
    often = {part: each for part, each in counts.items() if each.mean() >= OFTEN}
    if len(often) < LEAST_PARTS:
        return None
    draws = np.max(np.stack(list(often.values())), axis=0)
    alike = [part for part, each in often.items() if float(np.mean(draws - each <= 1)) >= ALIKE]
    if len(alike) < LEAST_PARTS or not _as_by_chance(draws):
        return None
    spent = (tree.end_ns - tree.start_ns)[samples].astype(np.float64)
    wasted = float((spent * (1 - 1 / np.maximum(1, draws))).sum() / max(1.0, spent.sum()))
    return DrawnAgain(path, tuple(alike), len(samples), float(draws.mean()), int(draws.max()), wasted)


def _calls_in(tree: StageTree, samples: Int64Array, node: int) -> Int64Array:
    """For each sample, how often it called that stage itself."""
    called = tree.parent[np.flatnonzero(tree.node == node)]
    counts: Int64Array = np.bincount(called[called >= 0], minlength=len(tree.node)).astype(np.int64)[samples]
    return counts


def _as_by_chance(draws: Int64Array) -> bool:
    """As many need one draw as an equal chance for each would let, and the numbers spread as far as they would."""
    mean = float(draws.mean())
    once, chance = float(np.mean(draws == 1)), 1 / mean
    error = SURE * float(np.sqrt(chance * (1 - chance) / len(draws)))
    spread = float(draws.var()) / (mean * (mean - 1))
    return int(draws.min()) == 1 and abs(once - chance) <= error and SPREAD[0] <= spread <= SPREAD[1]
