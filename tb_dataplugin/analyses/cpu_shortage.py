"""Finished batches that are on their way for long because no CPU is free: what holds the CPUs has that time.

While at least as many DataLoader workers are in a stage as there are CPUs, whatever has to be done for a finished batch
(serialise it, open its memory, wake the training thread) waits for a CPU. How much of that time is waiting is taken
from the training thread: the time that it waited for a CPU, over that and its CPU time. So long a part of the way, at
such moments, is passed on to the stages that the workers were in meanwhile, by their length. An estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.passing_on import Held, pass_on
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wait_parts import WaitParts
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class CpuShortage:
    """`taken`: all CPUs are taken by workers in a stage. `share`: of that time, a thread that could run waits."""

    taken: Intervals
    share: float
    tracks: tuple[int, ...]
    """Rows of the trace that are DataLoader workers."""

    def pass_on(self, way: Intervals, parts: WaitParts) -> Intervals:
        """Gives the stages that hold the CPUs their part of `way`; what is left of it."""
        length = np.rint(self.taken.overlap(way.start, way.end) * self.share).astype(np.int64)
        return pass_on(way, length, Held.by(parts.tree, self.tracks, way.start, way.end), parts)


def find_cpu_shortage(trace: Trace, tree: StageTree) -> CpuShortage | None:
    """None where the CPUs, or how the training thread got them, are not known, or where they were never all taken."""
    pipeline = trace.info.pipeline
    thread = pipeline.training_thread if pipeline else None
    if pipeline is None or thread is None or thread.run_delay_ns <= 0:
        return None
    limits = [limit for limit in (pipeline.host.cores, pipeline.host.cpu_quota) if limit]
    processes = trace.worker_tracks()
    tracks = tuple(sorted(processes, key=lambda track: processes[track].pid))  # whatever their order in the file
    taken = _at_least(int(np.ceil(min(limits))), tree, tracks) if limits else EMPTY
    if not len(taken):
        return None
    return CpuShortage(taken, thread.run_delay_ns / (thread.run_delay_ns + thread.cpu_ns), tracks)


def _at_least(count: int, tree: StageTree, tracks: tuple[int, ...]) -> Intervals:
    """When at least so many of these rows are in a stage."""
    sets = [Intervals.union(tree.piece_start[mine], tree.piece_end[mine]) for mine in map(tree.pieces_of_track, tracks)]
    if len(sets) < count:
        return EMPTY
    moments = np.concatenate([edge for each in sets for edge in (each.start, each.end)])
    steps = np.concatenate([np.repeat(step, len(each)) for each in sets for step in (1, -1)])
    order = np.argsort(moments, kind="stable")
    moments, depth = moments[order], np.cumsum(steps[order])
    here = np.flatnonzero(depth[:-1] >= count)
    return Intervals.union(moments[here], moments[here + 1])
