"""Finished batches that are on their way for long because no CPU is free: what holds the CPUs has that time.

While at least as many DataLoader workers are in a stage as there are CPUs, whatever has to be done for a finished batch
(serialise it, open its memory, wake the training thread) waits for a CPU. How much of that time is waiting is taken
from the training thread: the time that it waited for a CPU, over that and its CPU time. So long a part of the way, at
such moments, is passed on to the stages that the workers were in meanwhile, by their length. An estimate. A stage that
sleeps or waits for storage most of its time needs no CPU for that: it counts for so much less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.passing_on import Held, pass_on
from tb_dataplugin.analyses.stage_samples import StageSamples, find_stage_samples
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wait_parts import WaitParts
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace

Floats = npt.NDArray[np.float64]

_LEAST_SAMPLES: Final = 10
"""In a stage, for its share of being blocked."""
_MOSTLY: Final = 0.5
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class CpuShortage:
    """`taken`: all CPUs are taken by workers in a stage. `share`: of that time, a thread that could run waits.
    `wanted`: by span, the CPUs that its stage needs, of 1.
    """

    taken: Intervals
    share: float
    wanted: Floats
    tracks: tuple[int, ...]
    """Rows of the trace that are DataLoader workers."""

    def pass_on(self, way: Intervals, parts: WaitParts) -> Intervals:
        """Gives the stages that hold the CPUs their part of `way`; what is left of it."""
        length = np.rint(self.taken.overlap(way.start, way.end) * self.share).astype(np.int64)
        held = Held.by(parts.tree, self.tracks, way.start, way.end).weighed(self.wanted)
        return pass_on(way, length, held, parts)


def find_cpu_shortage(trace: Trace, tree: StageTree) -> CpuShortage | None:
    """None where the CPUs, or how the training thread got them, are not known, or where they were never all taken."""
    pipeline = trace.info.pipeline
    thread = pipeline.training_thread if pipeline else None
    if pipeline is None or thread is None or thread.run_delay_ns <= 0:
        return None
    limits = [limit for limit in (pipeline.host.cores, pipeline.host.cpu_quota) if limit]
    processes = trace.worker_tracks()
    tracks = tuple(sorted(processes, key=lambda track: processes[track].pid))  # whatever their order in the file
    if not limits or len(tracks) < np.ceil(min(limits)):
        return None
    wanted = _wanted(trace, tree)
    taken = _at_least(int(np.ceil(min(limits))), tree, tracks, wanted)
    if not len(taken):
        return None
    return CpuShortage(taken, thread.run_delay_ns / (thread.run_delay_ns + thread.cpu_ns), wanted, tracks)


def _wanted(trace: Trace, tree: StageTree) -> Floats:
    """By span: 1 where samples do not tell that its stage is blocked."""
    samples = find_stage_samples(trace, tree)
    known = {path: seen.blocked for path, seen in samples.items() if _waits(seen)}
    by_node: Floats = np.array([1.0 - known.get(path, 0.0) for path in tree.paths])
    return by_node[tree.node] if len(tree.paths) else np.zeros(0)


def _waits(seen: StageSamples) -> bool:
    """Most of its time. A stage that computes is seen blocked now and then, too, and its CPU is taken all the same."""
    return seen.samples >= _LEAST_SAMPLES and seen.blocked > _MOSTLY


def _at_least(count: int, tree: StageTree, tracks: tuple[int, ...], wanted: Floats) -> Intervals:
    """When these rows together need at least so many CPUs for their stages."""
    chosen = np.concatenate([np.arange(mine.start, mine.stop) for mine in map(tree.pieces_of_track, tracks)])
    need = wanted[tree.piece_span[chosen]]
    moments = np.concatenate((tree.piece_start[chosen], tree.piece_end[chosen]))
    order = np.argsort(moments, kind="stable")
    moments, needed = moments[order], np.cumsum(np.concatenate((need, -need))[order])
    here = np.flatnonzero(needed[:-1] >= count - _ROUNDING)
    return Intervals.union(moments[here], moments[here + 1])
