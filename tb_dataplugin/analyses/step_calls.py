"""Which calls of stages serve the loader, and which the training step makes for itself.

A loop may decode, or read, a picture of its own between two batches. A stage then has calls of both sorts: the table
of stages has them all, but what is said of the data wait is about those that serve the loader.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import StageKind
from tb_dataplugin.analyses.line_hits import OUTSIDE, Hits
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace

Mask = npt.NDArray[np.bool_]

OF_LOADER: Final[frozenset[StageKind]] = frozenset(("wait", "sampler", "wrapper", "transfer", "h2d"))
"""Kinds that are about handing batches over, wherever they run."""


def in_step(trace: Trace, tree: StageTree, loader: LoaderWait | None) -> Mask:
    """Per span: the training thread began it outside every wait for data. None is where the data wait is not known, and
    in a replay, which has no steps.
    """
    if loader is None or trace.info.mode == "replay":
        return np.zeros(len(tree.node), dtype=np.bool_)
    is_own: Mask = tree.track == trace.training_track
    return is_own & _may_be(tree)[tree.node] & ~_waits(trace).contains(tree.start_ns)


def hits_in_step(hits: Hits, trace: Trace, tree: StageTree, loader: LoaderWait | None) -> Mask:
    """The same per sample that lies in a stage."""
    if loader is None or trace.info.mode == "replay":
        return np.zeros(len(hits), dtype=np.bool_)
    may_be = np.append(_may_be(tree), False)[hits.node]
    found: Mask = hits.is_training & (hits.node != OUTSIDE) & may_be & ~_waits(trace).contains(hits.time_ns)
    return found


def _may_be(tree: StageTree) -> Mask:
    """Per chain of stages."""
    return np.array([OF_LOADER.isdisjoint(stage.kind for stage in path) for path in tree.paths], dtype=np.bool_)


def _waits(trace: Trace) -> Intervals:
    """Of the training thread, in the whole capture: also of loops that the program evaluates in."""
    spans, events = trace.stage_spans, trace.events
    here = spans.row[spans.is_kind("wait") & (events.track[spans.row] == trace.training_track)]
    return Intervals.union(events.start_ns[here], events.end_ns[here])
