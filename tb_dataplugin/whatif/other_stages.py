"""DataLoaders of the program that nothing is predicted of, and the stages that only their batches have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.trace import LoaderInfo


def other_loaders(results: Results) -> tuple[LoaderInfo, ...]:
    """Those that are iterated."""
    return tuple(loader for _, loader in _others(results))


def find_other_stages(results: Results) -> dict[str, LoaderInfo]:
    """Names of their stages, in DataLoader workers or in the training thread's waits for them, each with one of them
    that has it.
    """
    found: dict[str, LoaderInfo] = {}
    for number, loader in _others(results):
        for name in sorted(_stages_of(results, number)):
            found.setdefault(name, loader)
    return found


def _others(results: Results) -> Iterator[tuple[int, LoaderInfo]]:
    loaders = results.trace.info.pipeline.loaders if results.trace.info.pipeline else ()
    for number, loader in enumerate(loaders):
        if number not in results.use.loops and loader.iterated != 0:
            yield number, loader


def _stages_of(results: Results, number: int) -> set[str]:
    tree, tracks = results.tree, results.trace.worker_tracks()
    mine = np.isin(tree.track, [track for track, process in tracks.items() if process.loader == number])
    here = tree.track == results.trace.training_track
    mine |= here & results.whole.waits_of(number).contains(tree.start_ns)
    stages = (stage for node in np.unique(tree.node[mine]).tolist() for stage in tree.paths[node])
    return {stage.name for stage in stages if stage.kind != "wait"}
