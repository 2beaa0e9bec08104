"""What DataLoader workers spend on making samples, and how many they deliver in that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.pace import differences, means_by
from tb_dataplugin.analyses.resampling import Floats
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.analyses.workers import Workers, workers_alive
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import Trace, WorkerProcess

BATCHED_FETCH: Final = ".__getitems__"
"""Ends the label of a `sample` span that covers a whole batch fetched at once."""

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Made:
    """Of one DataLoader worker, per batch that it made samples of: how many, and what it spent on them (ns)."""

    samples: Floats
    read_ns: Floats
    prepare_ns: Floats

    def per_sample(self, spent: Floats) -> Floats:
        """For each batch that has samples."""
        return spent[self.samples > 0] / self.samples[self.samples > 0]


class Rates(NamedTuple):
    """Samples per second; None where no time went to it."""

    read: float | None = None
    prepare: float | None = None
    load: float | None = None


@dataclass(frozen=True, slots=True)
class Making:
    """`alive` workers at once, on average. `in_turn`: batches are taken from one after the other."""

    workers: tuple[Made, ...]
    alive: float
    in_turn: bool

    @property
    def read_ns(self) -> float:
        return float(sum(made.read_ns.sum() for made in self.workers))

    @property
    def prepare_ns(self) -> float:
        return float(sum(made.prepare_ns.sum() for made in self.workers))

    def rates(self) -> Rates:
        """Samples per second, did workers only read, only prepare, or both by turns.

        Of workers that differ, each delivers as many where they take turns: no more than the slowest. Else each
        delivers as many as it can. What a worker needs for both is the sum of the parts, so that both by turns are
        never faster than one part: were each judged by itself, chance would have workers differ in a part of what they
        do, and not in all of it.
        """
        made = [each for each in self.workers if each.samples.any()]
        if not made:
            return Rates()
        read, prepare = self._needed(made)
        return Rates(self._rate(read), self._rate(prepare), self._rate(read + prepare))

    def _needed(self, made: Sequence[Made]) -> tuple[Floats, Floats]:
        """What each worker needs for a sample (ns) to read and to prepare it, as far as workers differ."""
        read = [each.per_sample(each.read_ns) for each in made]
        prepare = [each.per_sample(each.prepare_ns) for each in made]
        of_read, of_prepare = differences(read), differences(prepare)
        if not any((*of_read, *of_prepare)):  # they may still differ in the sum of both
            of_read = of_prepare = differences([one + other for one, other in zip(read, prepare, strict=True)])
        samples = sum(each.samples.sum() for each in made)
        return (
            _apart(read, of_read, self.read_ns / samples),
            _apart(prepare, of_prepare, self.prepare_ns / samples),
        )

    def _rate(self, needed: Floats) -> float | None:
        if not needed.any():
            return None
        return float(self.alive * 1e9 * (1 / needed.max() if self.in_turn else (1 / needed).mean()))


def _apart(spent: Sequence[Floats], differ: tuple[bool, bool], common: float) -> Floats:
    """By worker; `common` for each that are alike, and where one of them has nothing of it."""
    each = means_by(spent, differ) if any(differ) else None
    return np.full(len(spent), common) if each is None or not each.min() else each


def find_making(
    trace: Trace,
    tree: StageTree,
    counted: BoolArray,
    workers: Workers | None,
    apart: Apart,
    loops: AbstractSet[int],
    per_batch: float | None = None,
) -> Making | None:
    """None where no DataLoader worker made any. `counted`: which spans count; other loaders are `apart`. Of the loader
    `loops` alone, where these have workers: beside another one that the steps draw from, its samples are counted.
    `per_batch`: how many samples a span has that covers a whole batch.
    """
    tracks, others = trace.worker_tracks(), {other.number for other in apart.others}
    numbers = {process.loader for process in tracks.values()}
    if loops & numbers:
        others |= numbers - loops
    tracks = {track: process for track, process in tracks.items() if process.loader not in others}
    mine = np.isin(tree.track, list(tracks)) & counted
    single, read = single_samples(tree), np.isin(tree.node, nodes_of(tree, "read"))
    sample = single.astype(np.float64)
    if per_batch and not (single & mine).any():
        sample += per_batch * batched_fetches(tree)
    if not (sample * mine).any():
        return None
    found: dict[tuple[int, int], list[Made]] = {}
    for track, process in tracks.items():
        rows = np.flatnonzero(mine & (tree.track == track))
        if not len(rows):
            continue
        batch = _batches(tree.start_ns[rows], process, workers)
        own = tree.self_ns[rows]
        parts = (np.bincount(batch, part) for part in (sample[rows], own * read[rows], own * ~read[rows]))
        made = Made(*(part.astype(np.float64) for part in parts))
        found.setdefault((process.loader, process.worker), []).append(made)
    alive = workers_alive([one for one in workers.times if one.process.loader not in others]) if workers else 0.0
    in_turn = workers is None or all(workers.take_turns(loader) for loader, _ in found)
    return Making(_by_worker(found), alive or float(len(tracks)), in_turn)


def _by_worker(found: Mapping[tuple[int, int], Sequence[Made]]) -> tuple[Made, ...]:
    """All together where they are of several loaders: these do not take turns with one another."""
    several = len({loader for loader, _ in found}) > 1
    groups = [[one for made in found.values() for one in made]] if several else list(found.values())
    return tuple(_joined(made) for made in groups)


def _joined(made: Sequence[Made]) -> Made:
    parts = zip(*((one.samples, one.read_ns, one.prepare_ns) for one in made), strict=True)
    return Made(*(np.concatenate(part) for part in parts))


def _batches(start_ns: Int64Array, process: WorkerProcess, workers: Workers | None) -> npt.NDArray[np.intp]:
    """For each span of that process, by its start, which of its batches it is for; 0 for all where they are unknown."""
    if workers is None:
        return np.zeros(len(start_ns), dtype=np.intp)
    table = workers.batches.table
    mine = (table.pid == process.pid) & (table.loader == process.loader) & known(table.started_ns)
    return np.maximum(np.searchsorted(np.sort(table.started_ns[mine]), start_ns, side="right") - 1, 0)


def self_ns_in(trace: Trace, tree: StageTree, counted: BoolArray, loader: int, worker: int) -> dict[Path, int]:
    """By chain of stages, the self time of these spans in that DataLoader worker."""
    processes = trace.worker_tracks().items()
    tracks = [track for track, one in processes if (one.loader, one.worker) == (loader, worker)]
    return by_path(tree, np.isin(tree.track, tracks) & counted, tree.self_ns)


def by_path(tree: StageTree, counted: BoolArray, time_ns: Int64Array) -> dict[Path, int]:
    """By chain of stages, the sum of these spans' `time_ns`."""
    spent = np.bincount(tree.node[counted], time_ns[counted], minlength=len(tree.paths))
    return dict(zip(tree.paths, spent.astype(np.int64).tolist(), strict=True))


def nodes_of(tree: StageTree, kind: str) -> list[int]:
    return [number for number, path in enumerate(tree.paths) if path[-1].kind == kind]


def single_samples(tree: StageTree) -> BoolArray:
    """Which spans are single samples."""
    return np.isin(tree.node, nodes_of(tree, "sample")) & ~batched_fetches(tree)


def batched_fetches(tree: StageTree) -> BoolArray:
    """Which spans cover a whole batch fetched at once."""
    labels = ((one, tree.paths[one][-1].label) for one in nodes_of(tree, "sample"))
    batched = [one for one, label in labels if label.endswith(BATCHED_FETCH) or label in tree.of_batches]
    is_batched: BoolArray = np.isin(tree.node, batched)
    return is_batched
