"""How much of a stage's time is torch's profiler: without DataLoader workers stages run in the thread that it records,
and each operator inside them costs as much as one of the training step (`profiler_weight`). Workers have no profiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.profiler_weight import MOST, operator_cost_us, recorded_operators
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.trace import Trace

WORTH_A_WORD: Final = 0.05
"""Share of a stage's self time, from which it is said and taken off what a change would save."""


@dataclass(frozen=True, slots=True)
class StageWeight:
    """Of a stage's calls in the window, without the stages inside: `operators` that the profiler recorded, and the part
    of their self time that recording them took, at least.
    """

    operators: int
    added_ns: int
    share: float
    """`added_ns` as a share of the self time."""


def find_stage_weights(trace: Trace, tree: StageTree, inside: npt.NDArray[np.bool_]) -> Mapping[Path, StageWeight]:
    """`inside`: which spans count. Stages in the training thread are missing where the cost of an operator was not
    measured; those elsewhere have none.
    """
    track, each_us = trace.training_track, operator_cost_us(trace)
    here = np.arange(len(tree.piece_span))[slice(0) if track is None else tree.pieces_of_track(track)]
    here = here[inside[tree.piece_span[here]]]
    counted = np.zeros(len(tree.paths), dtype=np.int64)
    begun = np.sort(recorded_operators(trace, track)) if track is not None else int64([])
    found = np.searchsorted(begun, tree.piece_end[here]) - np.searchsorted(begun, tree.piece_start[here])
    np.add.at(counted, tree.node[tree.piece_span[here]], found)
    self_ns = np.zeros(len(tree.paths), dtype=np.int64)
    np.add.at(self_ns, tree.node[inside], tree.self_ns[inside])
    return {
        path: _weight(operators, whole_ns, each_us or 0.0)
        for path, operators, whole_ns in zip(tree.paths, counted.tolist(), self_ns.tolist(), strict=True)
        if each_us is not None or not operators
    }


def _weight(operators: int, self_ns: int, each_us: float) -> StageWeight:
    added_ns = min(operators * each_us * 1e3, MOST * self_ns)
    return StageWeight(operators, round(added_ns), added_ns / self_ns if self_ns else 0.0)
