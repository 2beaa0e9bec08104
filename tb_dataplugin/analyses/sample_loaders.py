"""Whose samples they are, where a program has several DataLoaders: an index means nothing without that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import LoaderInfo, Trace

BoolArray = npt.NDArray[np.bool_]

USUAL: Final = 10
NOT_KNOWN: Final = -1
"""Number of the loader, where several may be."""


@dataclass(frozen=True, slots=True)
class LoaderSamples:
    """Single samples of one loader that start in the window. `number`: its place in the record, or `NOT_KNOWN`.

    `usual`: indices of those that take about as long as the median one, the nearest first, at most half of all.
    """

    number: int
    usual: tuple[int, ...]
    median_ns: float


def loaders_of(
    trace: Trace, tree: StageTree, rows: npt.NDArray[np.intp], loader: LoaderWait | None, use: LoaderUse
) -> Int64Array:
    """Of these spans of samples, by DataLoader worker; in the training process by the wait that they are in, else by
    their dataset, where only one loader has that.
    """
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    if len(loaders) < 2:
        return np.zeros(len(rows), dtype=np.int64)
    tracks = trace.worker_tracks()
    of_dataset = [_only(loaders, path[-1].label) for path in tree.paths]
    waits = _numbers_of_waits(tree, rows, loader, use)
    numbers = []
    for row, number in zip(rows.tolist(), waits.tolist(), strict=True):
        process = tracks.get(int(tree.track[row]))
        known = number if 0 <= number < len(loaders) else of_dataset[tree.node[row]]
        numbers.append(process.loader if process else known)
    return int64(numbers)


def _only(loaders: Iterable[LoaderInfo], dataset: str) -> int:
    mine = [number for number, one in enumerate(loaders) if one.dataset == dataset]
    return mine[0] if len(mine) == 1 else NOT_KNOWN


def _numbers_of_waits(
    tree: StageTree, rows: npt.NDArray[np.intp], loader: LoaderWait | None, use: LoaderUse
) -> Int64Array:
    """Of the waits that they are in."""
    if loader is None or not len(loader.waits):
        return np.full(len(rows), NOT_KNOWN)
    at = tree.start_ns[rows]
    wait = np.maximum(np.searchsorted(loader.waits.start, at, side="right") - 1, 0)
    found: Int64Array = np.where(loader.waits.contains(at), use.of_wait[wait], NOT_KNOWN)
    return found


def by_loader(
    number: Int64Array, index: Int64Array, took: Int64Array, typical: BoolArray, main: int
) -> tuple[LoaderSamples, ...]:
    """That of the training loop first (`main`), what is not known last. `took`: how long each sample took. Of those
    that are `typical`, where the loader has any.
    """
    found = []
    for each in sorted(np.unique(number).tolist(), key=lambda each: (each != main, each < 0, each)):
        mine = number == each
        mine = mine & typical if (mine & typical).any() else mine
        found.append(LoaderSamples(each, _usual(index[mine], took[mine]), float(np.median(took[mine]))))
    return tuple(found)


def _usual(index: Int64Array, took: Int64Array) -> tuple[int, ...]:
    nearest = np.lexsort((index, np.abs(took - np.median(took))))
    indices = tuple(one for one in dict.fromkeys(index[nearest].tolist()) if one >= 0)
    return indices[: min(USUAL, -(-len(indices) // 2))]
