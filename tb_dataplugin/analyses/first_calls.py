"""Whether the long calls of a stage are the first in their process, which may import, compile or fill a cache.

A call is none of these where another of that stage has ended before it in its process, in any step of the capture,
where its DataLoader worker had built batches before the capture, of which each calls that stage, or where it reads or
returns far more bytes than any other: then that is why it is long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.making import nodes_of
from tb_dataplugin.analyses.stages import Path, StageTree, groups
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import Trace, WorkerProcess

BoolArray = npt.NDArray[np.bool_]

FAR_MORE: Final = 2.0
"""Times the bytes of every call of the stage that is less than half as long."""


def first_of_long(trace: Trace, tree: StageTree, counted: BoolArray) -> Mapping[Path, float]:
    """By chain of stages: of the time of calls at least half as long as its longest, what may be first calls."""
    first, duration = may_be_first(trace, tree), tree.took_ns
    found = {}
    for node, here in groups(tree.node, np.flatnonzero(counted)):
        is_long = 2 * duration[here] >= duration[here].max()
        long, whole = here[is_long], int(duration[here[is_long]].sum())
        may_be = long[:0] if _is_large(trace.span_facts.bytes[here], is_long) else long[first[long]]
        found[tree.paths[node]] = float(duration[may_be].sum() / whole) if whole else 1.0
    return found


def _is_large(sizes: Int64Array, long: BoolArray) -> bool:
    """Whether the size of a stage's long calls tells them from the others; never where one of both was not measured."""
    large, others = sizes[long & (sizes >= 0)], sizes[~long & (sizes >= 0)]
    return bool(len(large) and len(others) and large.min() >= FAR_MORE * max(1, others.max()))


def may_be_first(trace: Trace, tree: StageTree) -> BoolArray:
    """Per span. Calls that overlap in several threads may all be first: they wait for the same import."""
    names = {name: number for number, name in enumerate(dict.fromkeys(path[-1].name for path in tree.paths))}
    stage = np.array([names[path[-1].name] for path in tree.paths], dtype=np.int64)[tree.node]
    pids = {pid: number for number, pid in enumerate(dict.fromkeys(track.pid for track in trace.tracks))}
    process = np.array([pids[track.pid] for track in trace.tracks], dtype=np.int64)[tree.track]
    is_sample = np.isin(tree.node, nodes_of(tree, "sample"))
    workers = trace.worker_tracks()
    first = np.zeros(len(tree.node), dtype=np.bool_)
    for _, here in groups(process, np.arange(len(process))):
        worker = workers.get(int(tree.track[here[0]]))
        worked, samples = _had_worked(trace, worker, here), int(is_sample[here].sum())
        for _, calls in groups(stage, here):
            if not worked or len(calls) < samples:
                first[calls] = tree.start_ns[calls] < tree.end_ns[calls].min()
    return first


def _had_worked(trace: Trace, worker: WorkerProcess | None, here: npt.NDArray[np.intp]) -> bool:
    """Whether a DataLoader worker's first recorded batch is one that it got after another: of the first ones, each
    worker gets one.
    """
    pipeline = trace.info.pipeline
    if worker is None or pipeline is None or worker.loader >= len(pipeline.loaders):
        return False
    of_loader = pipeline.loaders[worker.loader].num_workers
    numbers = trace.span_facts.batch[here]
    return bool((numbers >= 0).any()) and int(numbers[numbers >= 0].min()) >= max(1, of_loader or 0)
