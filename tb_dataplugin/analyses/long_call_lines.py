"""Which lines take the time of a stage's longest calls: those of its usual calls may be others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.hot_lines import HotLines, PartLines, lines_of
from tb_dataplugin.analyses.line_hits import Hits
from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.model.trace import Trace

BoolArray = npt.NDArray[np.bool_]

LONG: Final = 2.0
"""Times the median call; no few calls have most of the time of a stage whose longest is shorter."""


def lines_of_long_calls(
    trace: Trace, tree: StageTree, lines: HotLines, counted: BoolArray
) -> Iterator[tuple[Path, PartLines]]:
    """By chain of stages, of the own time of calls at least half as long as the longest. `counted`: which spans count.
    Nothing of calls that are all about as long.
    """
    took, find = tree.took_ns, lines_of(trace, lines)
    for node, here in groups(tree.node, np.flatnonzero(counted)):
        longest = took[here].max()
        if longest < LONG * np.median(took[here]):
            continue
        rows = _inside(lines.hits, tree, node, here[2 * took[here] >= longest])
        if rows.any():
            yield tree.paths[node], find(rows)


def _inside(hits: Hits, tree: StageTree, node: int, calls: npt.NDArray[np.intp]) -> BoolArray:
    """Samples in the own time of these calls of one node."""
    found = np.zeros(len(hits), dtype=np.bool_)
    for track, mine in groups(tree.track, calls):
        rows = np.flatnonzero((hits.node == node) & (hits.track == track))
        mine = mine[np.argsort(tree.start_ns[mine], kind="stable")]
        call = np.searchsorted(tree.start_ns[mine], hits.time_ns[rows], side="right") - 1
        until = np.maximum.accumulate(tree.end_ns[mine])
        found[rows] = (call >= 0) & (hits.time_ns[rows] < until[call])
    return found
