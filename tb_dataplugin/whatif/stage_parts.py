"""How long a thread was in which stage, within stretches of time."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.analyses.step_calls import Mask
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.whatif.loop import Timed

NO_STAGE: Final[Path] = ()


def parts_within(tree: StageTree, track: int, start: Int64Array, end: Int64Array, spans: Mask | None = None) -> Timed:
    """For each stretch of time, how long that thread was in which stage, without those inside; the rest is none's.
    `spans`: which count; None: all of them.
    """
    mine = tree.pieces_of_track(track)
    kept = slice(None) if spans is None else spans[tree.piece_span[mine]]
    pieces = Intervals(tree.piece_start[mine][kept], tree.piece_end[mine][kept])
    stretch, piece = pieces.touching(start, end)
    shared = np.minimum(pieces.end[piece], end[stretch]) - np.maximum(pieces.start[piece], start[stretch])
    node = tree.node[tree.piece_span[mine][kept][piece]]
    is_stage = np.array([path[-1].kind != "wait" for path in tree.paths], dtype=np.bool_)[node]
    nodes, column = np.unique(node[is_stage], return_inverse=True)
    ns = np.zeros((len(start), len(nodes) + 1))
    np.add.at(ns, (stretch[is_stage], column), shared[is_stage])
    ns[:, -1] = np.maximum(0, end - start - ns.sum(axis=1))
    return Timed((*(tree.paths[node] for node in nodes.tolist()), NO_STAGE), ns)
