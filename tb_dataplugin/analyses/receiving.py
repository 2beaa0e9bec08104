"""What the training thread does itself while it receives a batch: CPU time in its waits, time in which it is held up.

To open the memory of a batch the training process needs a thread of the batch's DataLoader worker, which needs the
interpreter's lock there. So time of deserialising in which the training thread is not on a CPU, while that worker's
main thread is on one in a stage, is time that this stage holds the lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.fed_waits import waits_around_loaders
from tb_dataplugin.analyses.passing_on import Held, pass_on
from tb_dataplugin.analyses.sampled_cpu import sampled_cpu_ns
from tb_dataplugin.analyses.stages import StageTree, cpu_of_children
from tb_dataplugin.analyses.wait_parts import WaitParts
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import Trace

UNKNOWN_CPU: Final = -1

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Deserialised:
    """When batches were deserialised, by start, and the CPU time of the training thread in their waits."""

    start: Int64Array
    end: Int64Array
    cpu_ns: Int64Array


@dataclass(frozen=True, slots=True)
class Receiving:
    """Waits of the training thread by start, with the CPU time in each that is in no stage inside it.

    `on_cpu`: per stage span, how much of its self time its thread was on a CPU; 0 where that is not known.
    """

    start: Int64Array
    end: Int64Array
    cpu_ns: Int64Array
    on_cpu: Shares

    def cpu_in(self, start: Int64Array, end: Int64Array) -> Int64Array:
        """Of these parts of waits, in proportion to their length; `UNKNOWN_CPU` where it was not recorded."""
        if not len(self.start):
            return np.full(len(start), UNKNOWN_CPU)
        wait = np.maximum(np.searchsorted(self.start, start, side="right") - 1, 0)
        inside = (self.start[wait] <= start) & (end <= self.end[wait]) & (self.cpu_ns[wait] >= 0)
        share = (end - start) / np.maximum(1, self.end[wait] - self.start[wait])
        return np.where(inside, np.rint(self.cpu_ns[wait] * share).astype(np.int64), UNKNOWN_CPU)

    def pass_on(self, time: Intervals, batches: Deserialised, track: int, parts: WaitParts) -> Intervals:
        """Gives the worker's stages what they held up of `time`, in which batches were deserialised. What is left."""
        if not len(time):
            return time
        batch = np.maximum(np.searchsorted(batches.start, time.start, side="right") - 1, 0)
        whole, cpu = batches.end[batch] - batches.start[batch], batches.cpu_ns[batch]
        held_up = np.where(cpu >= 0, np.maximum(0, whole - cpu), 0) * (time.durations / np.maximum(1, whole))
        held = Held.by(parts.tree, (track,), time.start, time.end).weighed(self.on_cpu)
        length = np.minimum(np.rint(held_up).astype(np.int64), held.total(len(time)))
        return pass_on(time, np.minimum(length, time.durations), held, parts)


def find_receiving(trace: Trace, tree: StageTree) -> Receiving:
    """Waits in iterators around a loader are left out: the CPU time in them may be that of the iterator's own code. Of
    waits that torch records and not we, samples tell of the CPU time.
    """
    cpu, below = trace.span_facts.cpu_ns, cpu_of_children(tree, trace.span_facts)
    is_wait = np.array([path[-1].kind == "wait" for path in tree.paths], dtype=np.bool_)
    rows = np.flatnonzero(is_wait[tree.node] & (tree.track == trace.training_track))
    rows = rows[np.argsort(tree.start_ns[rows], kind="stable")]
    around = [start for _, start, _ in waits_around_loaders(trace)]
    is_around = np.isin(tree.start_ns[rows], np.concatenate(around) if around else [])
    known = cpu[rows] >= 0
    own = np.maximum(0, cpu[rows] - below[rows])
    own[~known] = _sampled(trace, tree, rows[~known])
    own = np.where(is_around, UNKNOWN_CPU, own)
    return Receiving(tree.start_ns[rows], tree.end_ns[rows], own, _on_cpu(tree, cpu, below))


def _on_cpu(tree: StageTree, cpu: Int64Array, below: Int64Array) -> Shares:
    own = np.where(cpu < 0, 0, np.maximum(0, cpu - below))
    shares: Shares = np.minimum(1.0, own / np.maximum(1, tree.self_ns))
    return shares


def _sampled(trace: Trace, tree: StageTree, rows: npt.NDArray[np.intp]) -> Int64Array:
    """In each of these waits, by start: as samples show of those together that ended with a batch. Receiving one takes
    much the same each time, however long it is awaited, and no longer than its wait. An epoch's start takes what it
    takes, so nothing is said of that.
    """
    has_one = _with_a_batch(trace, tree.start_ns[rows], tree.end_ns[rows])
    pieces = np.isin(tree.piece_span, rows[has_one])
    cpu_ns = sampled_cpu_ns(trace, Intervals(tree.piece_start[pieces], tree.piece_end[pieces]))
    if cpu_ns is None:
        return np.full(len(rows), UNKNOWN_CPU)
    most = tree.self_ns[rows]
    return np.where(has_one, np.minimum(most, round(_level(most[has_one], cpu_ns))), UNKNOWN_CPU)


def _with_a_batch(trace: Trace, start: Int64Array, end: Int64Array) -> npt.NDArray[np.bool_]:
    """Which waits handed out a batch that is not an epoch's first."""
    batches = trace.info.pipeline.batches if trace.info.pipeline else None
    if batches is None:
        return np.zeros(len(start), dtype=np.bool_)
    handed_out = np.sort(batches.received_ns[batches.number > 0])
    return np.searchsorted(handed_out, start) < np.searchsorted(handed_out, end, side="right")


def _level(most: Int64Array, whole: float) -> float:
    """What each has of `whole`, if all have the same, or all that it can have."""
    least_first = np.sort(most)
    left = whole - (np.cumsum(least_first) - least_first)
    share = left / np.arange(len(most), 0, -1)
    fits = least_first >= share
    return float(share[fits.argmax()] if fits.any() else least_first[-1])
