"""How much of a stage's time is recording: torch's profiler for operators (without DataLoader workers stages run in the
thread that it records, and each operator inside them costs as much as one of the training step: `profiler_weight`), and
`annotate` for spans, the stage's own and those right inside it. Workers have no profiler, but spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.profiler_weight import (
    MOST,
    NO_COST,
    Cost,
    ProfilerWeight,
    cost_of_operators_us,
    makes_samples,
    probed_cost_us,
    recorded_operators,
)
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.trace import Trace

WORTH_A_WORD: Final = 0.05
"""Share of a stage's self time, from which it is said and taken off what a change would save."""

LEAST_NAMED: Final = 0.1
"""Share of what recording took, from which operators or spans are named for it."""

READERS_SPAN: Final = 2.0
"""What a span of a function that reads or decodes costs, over one that was probed: its stand-in in Python does more.
1.6 to 3.2 in the training thread, 2.4 to 4.0 in DataLoader workers (docs/lines.md); other spans 0.7 to 2.1.
"""
WITHIN: Final = 0.2
"""Part of a span's cost that lies within the span itself; the rest is in the stage around it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """So many operators or spans, and what recording them took, likely and (`cost`) in an interval."""

    count: int
    cost: Cost

    @property
    def ns(self) -> float:
        return self.cost.likely


@dataclass(frozen=True, slots=True)
class StageWeight:
    """Of a stage's calls in the window, without the stages inside. None: what recording one costs was not measured."""

    operators: Recorded | None
    spans: Recorded | None
    self_ns: int
    unknown: int = 0
    """So many operators that may have taken most of it, or far less: nothing is taken off for them."""

    @property
    def added_ns(self) -> float:
        return sum(part.ns for part in self._parts)

    @property
    def share(self) -> float:
        """`added_ns` as a share of the self time."""
        return self.added_ns / self.self_ns if self.self_ns else 0.0

    @property
    def least_share(self) -> float:
        """The same, at least: the rest is what a change may save, at most."""
        return sum(part.cost.least for part in self._parts) / self.self_ns if self.self_ns else 0.0

    @property
    def most_share(self) -> float:
        return min(1.0, sum(part.cost.most for part in self._parts) / self.self_ns) if self.self_ns else 0.0

    @property
    def _parts(self) -> tuple[Recorded, ...]:
        return tuple(part for part in (self.operators, self.spans) if part is not None)

    @property
    def named(self) -> tuple[int, int]:
        """How many operators and spans are said to be the reason: 0 of those that cost next to nothing."""
        least = LEAST_NAMED * self.added_ns
        operators, spans = (part.count if part and part.ns > least else 0 for part in (self.operators, self.spans))
        return operators, spans


def find_stage_weights(
    trace: Trace, tree: StageTree, inside: npt.NDArray[np.bool_], weight: ProfilerWeight | None, steps: int
) -> Mapping[Path, StageWeight]:
    """`inside`: which spans count. `weight`: of a step; `steps`: how many these are in."""
    self_ns = np.zeros(len(tree.paths), dtype=np.int64)
    np.add.at(self_ns, tree.node[inside], tree.self_ns[inside])
    parts = _operators(trace, tree, inside, weight, steps), _spans(trace, tree, inside)
    return {
        path: _weight(operators, spans, whole_ns)
        for path, operators, spans, whole_ns in zip(tree.paths, *parts, self_ns.tolist(), strict=True)
    }


def _weight(operators: Recorded | None, spans: Recorded | None, self_ns: int) -> StageWeight:
    """Most of a stage is its own: where it is not by these costs, they are not known well enough to be taken off."""
    weight = StageWeight(operators, spans, self_ns)
    if operators is not None and operators.count and weight.share > MOST:
        return StageWeight(None, _clipped(spans, self_ns), self_ns, operators.count)
    return StageWeight(operators, _clipped(spans, self_ns), self_ns)


def _clipped(spans: Recorded | None, self_ns: int) -> Recorded | None:
    return None if spans is None else replace(spans, cost=spans.cost.clipped(0.0, MOST * self_ns))


def _operators(
    trace: Trace, tree: StageTree, inside: npt.NDArray[np.bool_], weight: ProfilerWeight | None, steps: int
) -> list[Recorded | None]:
    """By node. Stages outside the training thread have none."""
    track, probed = trace.training_track, probed_cost_us(trace)
    here = np.arange(len(tree.piece_span))[slice(0) if track is None else tree.pieces_of_track(track)]
    here = here[inside[tree.piece_span[here]]]
    counted = np.zeros(len(tree.paths), dtype=np.int64)
    begun = np.sort(recorded_operators(trace, track)) if track is not None else int64([])
    found = np.searchsorted(begun, tree.piece_end[here]) - np.searchsorted(begun, tree.piece_start[here])
    np.add.at(counted, tree.node[tree.piece_span[here]], found)
    of_step = weight if steps and makes_samples(trace) else None

    def recorded(many: int) -> Recorded | None:
        cost = cost_of_operators_us(many / max(1, steps), of_step, probed) if many else NO_COST
        return None if cost is None else Recorded(many, cost.times(1e3 * max(1, steps)))

    return list(map(recorded, counted.tolist()))


def _spans(trace: Trace, tree: StageTree, inside: npt.NDArray[np.bool_]) -> list[Recorded | None]:
    """By node: its own, and those right inside. Waits have none: what is no stage's lies in them too."""
    each_ns = _span_costs_ns(trace, tree)
    inner = np.flatnonzero(tree.parent >= 0)
    inner = inner[inside[tree.parent[inner]]]
    within, around = tree.node[inside], tree.node[tree.parent[inner]]
    added_ns, counted = np.zeros(len(tree.paths)), np.zeros(len(tree.paths), dtype=np.int64)
    np.add.at(added_ns, within, WITHIN * each_ns[inside])
    np.add.at(added_ns, around, (1 - WITHIN) * each_ns[inner])
    for places in (within, around):
        np.add.at(counted, places, 1)
    return [
        Recorded(0, NO_COST) if path[-1].kind == "wait" else None if np.isnan(ns) else Recorded(many, Cost(ns, ns, ns))
        for path, many, ns in zip(tree.paths, counted.tolist(), added_ns.tolist(), strict=True)
    ]


def _span_costs_ns(trace: Trace, tree: StageTree) -> npt.NDArray[np.float64]:
    """Of each span, at least; NaN where it was not measured."""
    costs: npt.NDArray[np.float64] = np.where(_is_reader(tree), READERS_SPAN, 1.0) * _probed_ns(trace)[tree.track]
    return costs


def _is_reader(tree: StageTree) -> npt.NDArray[np.bool_]:
    """Which spans are of a function that reads or decodes."""
    is_reader = np.array([path[-1].kind in ("read", "decode") for path in tree.paths], dtype=np.bool_)
    found: npt.NDArray[np.bool_] = is_reader[tree.node]
    return found


def _probed_ns(trace: Trace) -> npt.NDArray[np.float64]:
    """By track: what a span cost that was probed there; NaN where none was."""
    by_track, pipeline = np.full(len(trace.tracks), np.nan), trace.info.pipeline
    if pipeline is not None and pipeline.worker_span_us is not None:
        by_track[list(trace.worker_tracks())] = 1e3 * pipeline.worker_span_us
    if pipeline is not None and pipeline.marker_us is not None and trace.training_track is not None:
        by_track[trace.training_track] = 1e3 * pipeline.marker_us
    return by_track


def readers_extra_us(trace: Trace, tree: StageTree) -> tuple[float, float]:
    """What spans of reading functions cost beyond as many that were probed: in the training thread, and in workers."""
    extra_us = (READERS_SPAN - 1) * _probed_ns(trace)[tree.track] / 1e3
    in_training = tree.track == (-1 if trace.training_track is None else trace.training_track)
    own, theirs = (float(np.nansum(extra_us[_is_reader(tree) & here])) for here in (in_training, ~in_training))
    return own, theirs
