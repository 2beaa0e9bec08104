"""The slowest samples: which dataset index, in which worker, and what took the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.throughput import BATCHED_FETCH
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import Trace, WorkerProcess

MOST = 20


@dataclass(frozen=True, slots=True)
class SlowSample:
    """`index` is -1 for iterable datasets, `worker` without DataLoader workers; `batch` and `epoch` where they are not
    known. `stage` has the most self time in the sample, `stage_ns` of it.

    `files`: paths that it was read from, where the recorder saw them. `storage_share`: of the bytes that reads returned
    to its batch, what came from storage; None: not measured.
    """

    index: int
    start_ns: int
    duration_ns: int
    loader: int
    worker: int
    batch: int
    epoch: int
    stage: str
    stage_ns: int
    files: tuple[str, ...] = ()
    storage_share: float | None = None
    work: float = 1.0
    """How many samples' worth of work it was: how often the stages inside it ran, beside a typical sample. One that
    fills a buffer, or reads ahead, does the work of many.
    """


def find_slow_samples(trace: Trace, tree: StageTree, window: Window) -> tuple[SlowSample, ...]:
    """The slowest samples that start in the window, slowest first: those of DataLoader workers; without their records
    those that the training process loaded itself. A replay has a table of its own for what it loaded.
    """
    tracks = trace.worker_tracks()
    is_sample = np.array(
        [path[-1].kind == "sample" and not path[-1].label.endswith(BATCHED_FETCH) for path in tree.paths],
        dtype=np.bool_,
    )
    if not is_sample.any() or trace.info.mode == "replay":
        return ()
    rows = is_sample[tree.node] & (tree.start_ns >= window.start_ns) & (tree.start_ns < window.end_ns)
    if tracks:
        rows &= np.isin(tree.track, list(tracks))
    chosen = np.flatnonzero(rows)
    process = np.array([tracks[track].pid if track in tracks else 0 for track in tree.track[chosen].tolist()])
    order = np.lexsort((process, tree.start_ns[chosen], tree.start_ns[chosen] - tree.end_ns[chosen]))
    slowest = chosen[order[:MOST]].tolist()
    work = work_of(tree, is_sample, slowest)
    return tuple(
        _describe(trace, tree, row, tracks.get(int(tree.track[row])), much)
        for row, much in zip(slowest, work, strict=True)
    )


def work_of(tree: StageTree, is_sample: npt.NDArray[np.bool_], rows: Sequence[int]) -> list[float]:
    """Per span of a sample, how often the stages inside it ran, beside samples that have them: the median over its
    stages, each beside its own median. 1.0 without any. `is_sample`: per node of the tree.
    """
    sample = _sample_around(tree, is_sample)
    inside = np.flatnonzero((sample >= 0) & ~is_sample[tree.node])
    pairs, calls = np.unique(np.stack((sample[inside], tree.node[inside])), axis=1, return_counts=True)
    work = []
    for row in rows:
        mine = np.flatnonzero(pairs[0] == row)
        usual = [float(np.median(calls[pairs[1] == node])) for node in pairs[1, mine].tolist()]
        work.append(float(np.median(calls[mine] / usual)) if usual else 1.0)
    return work


def _sample_around(tree: StageTree, is_sample: npt.NDArray[np.bool_]) -> Int64Array:
    """Per span, the span of the sample that it is in, or is; -1: of none."""
    sample = np.where(is_sample[tree.node], np.arange(len(tree.node)), -1)
    for depth in range(1, int(tree.depth.max(initial=0)) + 1):
        here = np.flatnonzero((tree.depth == depth) & (sample < 0))
        sample[here] = np.where(tree.parent[here] >= 0, sample[tree.parent[here]], -1)
    return sample


def _describe(trace: Trace, tree: StageTree, row: int, process: WorkerProcess | None, work: float) -> SlowSample:
    """`process`: None for the training process."""
    start, end = int(tree.start_ns[row]), int(tree.end_ns[row])
    mine = tree.pieces_of_track(int(tree.track[row]))
    pieces = (tree.piece_start[mine] >= start) & (tree.piece_end[mine] <= end)
    spent: dict[str, int] = {}
    lengths = (tree.piece_end[mine] - tree.piece_start[mine])[pieces].tolist()
    for span, length in zip(tree.piece_span[mine][pieces].tolist(), lengths, strict=True):
        name = tree.paths[tree.node[span]][-1].name
        spent[name] = spent.get(name, 0) + length
    stage = max(spent, key=lambda name: spent[name], default="")
    facts = trace.span_facts
    return SlowSample(
        index=int(facts.index[row]),
        start_ns=start,
        duration_ns=end - start,
        loader=process.loader if process else 0,
        worker=process.worker if process else -1,
        batch=int(facts.batch[row]),
        epoch=int(facts.epoch[row]),
        stage=stage,
        stage_ns=spent.get(stage, 0),
        files=facts.files.get(row, ()),
        storage_share=None
        if process is None
        else _storage_share(trace, process, int(facts.epoch[row]), int(facts.batch[row])),
        work=work,
    )


def _storage_share(trace: Trace, process: WorkerProcess, epoch: int, batch: int) -> float | None:
    pipeline = trace.info.pipeline
    table, costs = (pipeline.batches, pipeline.batch_costs) if pipeline else (None, None)
    if table is None or costs is None:
        return None
    is_batch = (table.loader == process.loader) & (table.epoch == epoch) & (table.number == batch)
    rows = np.flatnonzero(is_batch & (costs.read_chars > 0) & (costs.read_bytes >= 0))
    if not len(rows):
        return None
    return min(1.0, float(costs.read_bytes[rows[0]] / costs.read_chars[rows[0]]))
