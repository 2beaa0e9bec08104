"""What DataLoader workers spend on making samples, and how many they deliver in that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.pace import means_apart
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

    @property
    def read_per_s(self) -> float | None:
        return self._rate([made.read_ns for made in self.workers])

    @property
    def prepare_per_s(self) -> float | None:
        return self._rate([made.prepare_ns for made in self.workers])

    @property
    def load_per_s(self) -> float | None:
        return self._rate([made.read_ns + made.prepare_ns for made in self.workers])

    def _rate(self, spent: Sequence[Floats]) -> float | None:
        """Samples per second, did they spend only that. Of workers that differ, each delivers as many where they take
        turns: no more than the slowest. Else each delivers as many as it can.
        """
        samples, whole = sum(made.samples.sum() for made in self.workers), sum(each.sum() for each in spent)
        if not whole:
            return None
        each = means_apart([per[made.samples > 0] / made.samples[made.samples > 0] for per, made in self._any(spent)])
        if each is None or not each.min():
            return float(samples / whole * self.alive * 1e9)
        return float(self.alive * 1e9 * (1 / each.max() if self.in_turn else (1 / each).mean()))

    def _any(self, spent: Sequence[Floats]) -> list[tuple[Floats, Made]]:
        pairs = zip(spent, self.workers, strict=True)
        return [(per, made) for per, made in pairs if made.samples.any()]


def find_making(
    trace: Trace, tree: StageTree, counted: BoolArray, workers: Workers | None, apart: Apart
) -> Making | None:
    """None where no DataLoader worker made any. `counted`: which spans count; other loaders are `apart`."""
    tracks, others = trace.worker_tracks(), {other.number for other in apart.others}
    mine = np.isin(tree.track, list(tracks)) & counted
    sample, read = single_samples(tree), np.isin(tree.node, nodes_of(tree, "read"))
    if not (sample & mine).any():
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
    batched = [one for one in nodes_of(tree, "sample") if tree.paths[one][-1].label.endswith(BATCHED_FETCH)]
    is_batched: BoolArray = np.isin(tree.node, batched)
    return is_batched
