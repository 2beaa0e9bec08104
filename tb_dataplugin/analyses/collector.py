"""Full collections of Python's garbage: they scan all that the process holds, on whichever stage they fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tb_dataplugin.analyses.batch_shares import received_in_turn
from tb_dataplugin.analyses.lifetimes import known as is_known
from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.analyses.workers import BatchTimes, Workers
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import Trace

FULL_NS: Final = 5_000_000
"""From which a collection is taken for a full one. A shorter one scans little more than what was just made: that is a
cost of the stage that made it."""

OFTEN: Final = 0.5
"""Part of the waits that have one, from which they are no chance: something in the pipeline asks for them."""

FEW: Final = 5
"""In the window, below which chance decides how much of it they have."""


def full_collections(trace: Trace, tree: StageTree) -> Intervals:
    """Those in the training thread that no stage is to blame for; in any thread of its process where DataLoader workers
    build the batches: all that it does in a wait takes Python's lock, which a collection has to its end.
    """
    pipeline = trace.info.pipeline
    here = (pipeline.collections if pipeline else None) or EMPTY
    elsewhere = (pipeline.collections_elsewhere if pipeline and pipeline.workers else None) or EMPTY
    known = Intervals.union_of((here, elsewhere))
    long = known.durations >= FULL_NS
    found = Intervals(known.start[long], known.end[long])
    is_wait = np.array([path[-1].kind == "wait" for path in tree.paths], dtype=np.bool_)[tree.node]
    has_one = found.overlap(tree.start_ns[is_wait], tree.end_ns[is_wait]) > 0
    return EMPTY if has_one.sum() >= OFTEN * len(has_one) else found


def collected_in(waits: Intervals, trace: Trace, tree: StageTree, workers: Workers | None) -> Intervals:
    """The part of the data wait that they have: of a wait for a batch of DataLoader workers what follows the batch's
    end, since until then there is nothing to hand out.
    """
    found = waits.intersect(full_collections(trace, tree))
    if workers is None:
        return found
    return found.minus(missing_batches(workers.batches))


def missing_batches(batches: BatchTimes) -> Intervals:
    """Parts of the waits in which the batch was not finished."""
    received = received_in_turn(batches)
    finished = batches.table.finished_ns[received.row]
    return Intervals.union(received.start, np.clip(finished, received.start, received.end))


def arriving_batches(batches: BatchTimes) -> Intervals:
    """Parts of the waits in which the batch was finished, but not there: its worker sent it, or had not begun to."""
    received = received_in_turn(batches)
    finished, arrived = batches.table.finished_ns[received.row], batches.table.arrived_ns[received.row]
    until = np.where(is_known(arrived), arrived, finished)
    start, end = (np.clip(time, received.start, received.end) for time in (finished, until))
    return Intervals.union(start, np.maximum(start, end))


def are_few(trace: Trace, tree: StageTree, window: Window) -> bool:
    return len(full_collections(trace, tree).clip(window)) < FEW


def collected_by_stage(trace: Trace, tree: StageTree, window: Window) -> Mapping[Path, int]:
    """Time in them (ns), of the spans that start in the window."""
    found = full_collections(trace, tree)
    if not len(found) or trace.training_track is None:
        return {}
    mine = np.flatnonzero(tree.starts_in(window) & (tree.track == trace.training_track))
    taken = found.overlap(tree.start_ns, tree.end_ns)
    return {tree.paths[node]: int(taken[here].sum()) for node, here in groups(tree.node, mine)}
