"""What the samples of threads say of the stages that these were in.

Between two samples of a thread the kernel counted how long it ran and how long it waited for a CPU; the rest of that
time it was blocked. A stage that has a part of that time has no more of each than there is of it, which settles what
a long call was held up by. The sample itself shows whether the thread was blocked then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.thread_samples import SampledThread
from tb_dataplugin.model.trace import Trace

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StageSamples:
    """`seen_ns`: the stage's own time between samples. Of it waiting for a CPU has at most `delay_most_ns`, being
    blocked `blocked_most_ns`. `samples` fall into it, and in the share `blocked` of it the thread was seen blocked.
    """

    seen_ns: float
    delay_most_ns: float
    blocked_most_ns: float
    samples: int
    blocked: float


def find_stage_samples(trace: Trace, tree: StageTree) -> dict[Path, StageSamples]:
    """Of the stages of threads that were sampled."""
    sums = np.zeros((6, len(tree.paths)))
    for track, thread in _sampled(trace):
        sums += _of_thread(thread, tree, tree.pieces_of_track(track))
    return {
        path: StageSamples(seen, delay, blocked_most, int(samples), blocked / weight if weight else 0.0)
        for path, (seen, delay, blocked_most, samples, weight, blocked) in zip(tree.paths, sums.T.tolist(), strict=True)
        if seen
    }


def _sampled(trace: Trace) -> Iterator[tuple[int, SampledThread]]:
    """Threads with their row of the trace."""
    pipeline = trace.info.pipeline
    tracks = {process.pid: track for track, process in trace.worker_tracks().items()}
    for thread in pipeline.thread_samples.threads if pipeline and pipeline.thread_samples else ():
        track = trace.training_track if thread.is_training else tracks.get(thread.pid)
        if track is not None and len(thread.time_ns) > 1:
            yield track, thread


def _of_thread(thread: SampledThread, tree: StageTree, pieces: slice) -> Floats:
    """By node, the columns of the sums above."""
    edges = tree.piece_start[pieces], tree.piece_end[pieces]
    start, end = (np.clip(edge, thread.time_ns[0], thread.time_ns[-1]) for edge in edges)
    node = tree.node[tree.piece_span[pieces]]
    weight, blocked = thread.weight_ns, thread.weight_ns * thread.is_blocked
    inside = np.searchsorted(start, thread.time_ns, side="right") - 1
    sampled = (inside >= 0) & (thread.time_ns < end[inside]) if len(start) else np.zeros(len(weight), dtype=np.bool_)

    def total(nodes: Int64Array, values: Floats | Int64Array) -> Floats:
        return np.bincount(nodes, values, minlength=len(tree.paths)).astype(np.float64)

    hit = node[inside[sampled]]
    where, between, overlap = _shared(thread.time_ns, start, end, node)
    delay, rest = thread.delay_between_ns, thread.blocked_between_ns
    return np.stack(
        (
            total(where, overlap),
            total(where, np.minimum(overlap, delay[between])),
            total(where, np.minimum(overlap, rest[between])),
            total(hit, np.ones(len(hit))),
            total(hit, weight[sampled]),
            total(hit, blocked[sampled]),
        )
    )


def _shared(
    time: Int64Array, start: Int64Array, end: Int64Array, node: Int64Array
) -> tuple[Int64Array, Int64Array, Floats]:
    """Each node with each time between two samples that it has a part of, and that part."""
    first = np.searchsorted(time, start, side="right") - 1
    count = np.where(end > start, np.searchsorted(time, end, side="left") - first, 0)
    piece = np.repeat(np.arange(len(start)), count)
    between = first[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    overlap = np.minimum(end[piece], time[between + 1]) - np.maximum(start[piece], time[between])
    keys, key = np.unique(node[piece] * len(time) + between, return_inverse=True)
    shared = np.bincount(key, overlap, minlength=len(keys)).astype(np.float64)
    return keys // len(time), keys % len(time), shared
