"""What a training program does, by its Python stacks alone: nothing of ours was in it, so no stage has a name.

A stack says by itself where its thread is: inside torch's DataLoader, of the training thread, is data wait; inside
the fetching of a batch, of a DataLoader worker, is building one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from tb_dataplugin.analyses.code_places import home_of
from tb_dataplugin.analyses.line_hits import Floats, Hits
from tb_dataplugin.analyses.line_rows import Estimate, LineRow, Mask, estimate, line_rows
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.model.line_samples import Frame, LineSamples, SampledStacks, Stacks

LOADER: Final = "/torch/utils/data/dataloader.py"
FETCH: Final = "/torch/utils/data/_utils/fetch.py"
WORKER: Final = ("_worker_loop", "/torch/utils/data/_utils/worker.py")
QUEUE: Final = "/multiprocessing/queues.py"

LEAST_SAMPLES: Final = 100
MOST_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class SeenPart:
    """A part of the time of some threads: `share` of it, its lines (none below `LEAST_SAMPLES`), and its stacks."""

    share: Estimate
    rows: tuple[LineRow, ...]
    stacks: tuple[tuple[tuple[Frame, ...], float], ...]
    """Frames outermost first, and the time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class SeenWorkers:
    """DataLoader workers of one training process: those that build batches, wait for indices, or send batches.

    `processes`: all that were seen, of every epoch; `at_once`: how many of them there were for most of the time.
    """

    processes: int
    at_once: int
    building: SeenPart
    without_index: Estimate


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """One thread's time: of the one that iterates a DataLoader, else (`iterates` False) of the main thread.

    `main`: all of the main thread's time, where another thread iterates the loader.
    """

    pid: int
    samples: int
    iterates: bool
    waiting: SeenPart
    rest: SeenPart
    workers: SeenWorkers | None
    main: SeenPart | None


def onlook(samples: LineSamples, parents: Mapping[int, int], root: int) -> tuple[SeenProcess, ...]:
    """The training processes, by pid. `parents`: of each process; `root`: the one that was named."""
    threads = [thread for thread in samples.threads if (thread.stack >= 0).any()]
    reader = _Reader(samples.stacks)
    workers = [thread for thread in threads if reader.share(thread, reader.is_worker) > 0]
    worker_pids = {thread.pid for thread in workers}
    rest = [thread for thread in threads if thread.pid not in worker_pids]
    training = _training_threads(rest, reader, root)
    owners = {thread.pid for thread in training}
    found = []
    for thread in training:
        mine = [each for each in workers if _owner(each.pid, owners, parents) == thread.pid]
        main = next((each for each in rest if each.pid == each.tid == thread.pid != thread.tid), None)
        found.append(_process(thread, mine, main, reader))
    return tuple(found)


def _training_threads(threads: Sequence[SampledStacks], reader: _Reader, root: int) -> list[SampledStacks]:
    """Of each process the thread that waits longest in a DataLoader; where there is none, the main thread of `root`."""
    found: dict[int, tuple[float, SampledStacks]] = {}
    for thread in threads:
        share = reader.share(thread, reader.is_in_loader)
        if share > found.get(thread.pid, (0.0, thread))[0]:
            found[thread.pid] = share, thread
    if not found:
        return [thread for thread in threads if thread.pid == thread.tid == root]
    return [thread for _, (_, thread) in sorted(found.items())]


def _owner(pid: int, owners: set[int], parents: Mapping[int, int]) -> int | None:
    """The process that a worker works for: its nearest ancestor that trains, or the only one."""
    at = parents.get(pid, 0)
    while at and at not in owners:
        at = parents.get(at, 0)
    return at if at else (next(iter(owners)) if len(owners) == 1 else None)


def _process(
    thread: SampledStacks, workers: Sequence[SampledStacks], main: SampledStacks | None, reader: _Reader
) -> SeenProcess:
    hits = _hits([thread])
    waits = reader.mask(hits, reader.is_in_loader)
    return SeenProcess(
        pid=thread.pid,
        samples=len(hits),
        iterates=bool(waits.any()),
        waiting=reader.part(hits, waits, reader.inside_fetch),
        rest=reader.part(hits, ~waits, lambda frames: frames),
        workers=_workers(workers, reader) if workers else None,
        main=None if main is None else reader.whole(_hits([main])),
    )


def _workers(threads: Sequence[SampledStacks], reader: _Reader) -> SeenWorkers:
    hits = _hits(threads)
    hits = hits.where(reader.mask(hits, reader.is_worker))
    idle = reader.mask(hits, reader.is_without_index)
    return SeenWorkers(
        processes=len({thread.pid for thread in threads}),
        at_once=_at_once(threads),
        building=reader.part(hits, reader.mask(hits, reader.is_building), reader.inside_fetch),
        without_index=estimate(hits.weight_ns, np.where(idle, hits.weight_ns, 0.0)),
    )


def _at_once(threads: Sequence[SampledStacks]) -> int:
    """How many processes there were at the same time, for most of the time in which there was any.

    Each lasts from its first stack to its last: workers that start anew in each epoch are other processes, and an
    iterator that is still held has its own beside the next one's for a moment.
    """
    lives: dict[int, tuple[int, int]] = {}
    for thread in threads:
        times = thread.time_ns[thread.stack >= 0]
        first, last = lives.get(thread.pid, (int(times.min()), int(times.max())))
        lives[thread.pid] = min(first, int(times.min())), max(last, int(times.max()))
    begins, ends = (np.sort(int64(column)) for column in zip(*lives.values(), strict=True))
    moments = np.unique(np.concatenate((begins, ends)))
    alive = np.searchsorted(begins, moments[:-1], side="right") - np.searchsorted(ends, moments[:-1], side="right")
    lasted = np.bincount(alive, weights=np.diff(moments), minlength=2)[1:]
    return int(lasted.argmax()) + 1 if lasted.any() else len(lives)


def _hits(threads: Iterable[SampledStacks]) -> Hits:
    """All samples whose stack was read."""
    parts = [(thread, thread.stack >= 0) for thread in threads]
    stack = np.concatenate([thread.stack[read] for thread, read in parts])
    weight: Floats = np.concatenate([thread.weight_ns(False)[read] for thread, read in parts]).astype(np.float64)
    none, zero = np.zeros(len(stack), dtype=np.int64), np.zeros(len(stack))
    return Hits(
        stack=stack,
        track=none,
        node=none,
        time_ns=np.concatenate([thread.time_ns[read] for thread, read in parts]),
        state=np.concatenate([thread.state[read] for thread, read in parts]),
        is_training=np.ones(len(stack), dtype=np.bool_),
        weight_ns=weight,
        waited_ns=zero,
        idle_ns=zero,
        for_others=np.zeros(len(stack), dtype=np.bool_),
    )


Cut = Callable[[list[Frame]], list[Frame]]


class _Reader:
    """Stacks, and what they say of themselves."""

    def __init__(self, stacks: Stacks) -> None:
        self.frames: Callable[[int], list[Frame]] = cache(stacks.inwards)

    def mask(self, hits: Hits, says: Callable[[list[Frame]], bool]) -> Mask:
        which, place = np.unique(hits.stack, return_inverse=True)
        return np.array([says(self.frames(stack)) for stack in which.tolist()], dtype=np.bool_)[place.ravel()]

    def share(self, thread: SampledStacks, says: Callable[[list[Frame]], bool]) -> float:
        stacks = thread.stack[thread.stack >= 0]
        which, times = np.unique(stacks, return_counts=True)
        found = sum(int(n) for stack, n in zip(which.tolist(), times.tolist(), strict=True) if says(self.frames(stack)))
        return found / max(1, len(stacks))

    @staticmethod
    def is_worker(frames: list[Frame]) -> bool:
        return any(frame.function == WORKER[0] and frame.file.endswith(WORKER[1]) for frame in frames)

    @staticmethod
    def is_in_loader(frames: list[Frame]) -> bool:
        return any(
            frame.file.endswith(LOADER) and frame.function.endswith((".__next__", ".__iter__")) for frame in frames
        )

    @staticmethod
    def is_building(frames: list[Frame]) -> bool:
        return any(frame.file.endswith(FETCH) for frame in frames)

    @staticmethod
    def is_without_index(frames: list[Frame]) -> bool:
        """In the `get` of the index queue, right below the worker's loop."""
        at = next((at for at, frame in enumerate(frames) if frame.file.endswith(WORKER[1])), len(frames))
        return any(frame.file.endswith(QUEUE) and frame.function.endswith(".get") for frame in frames[at + 1 : at + 2])

    @staticmethod
    def inside_fetch(frames: list[Frame]) -> list[Frame]:
        """The dataset's and collate function's frames; of a wait for workers, what is below the loader's own."""
        at = next((at for at in range(len(frames), 0, -1) if frames[at - 1].file.endswith(FETCH)), 0)
        if not at:
            at = next((at for at in range(len(frames), 0, -1) if frames[at - 1].file.endswith(LOADER)), 0)
        return frames[at:]

    def whole(self, hits: Hits) -> SeenPart:
        return self.part(hits, np.ones(len(hits), dtype=np.bool_), lambda frames: frames)

    def part(self, hits: Hits, rows: Mask, cut: Cut) -> SeenPart:
        share = estimate(hits.weight_ns, np.where(rows, hits.weight_ns, 0.0))
        hits = hits.where(rows)
        which, place = np.unique(hits.stack, return_inverse=True)
        place = place.ravel()
        whole = [self.frames(stack) for stack in which.tolist()]
        times = np.bincount(place, weights=hits.weight_ns, minlength=len(whole)).tolist() if len(hits) else []
        stacks = tuple((tuple(frames), time) for frames, time in zip(whole, times, strict=True))
        if len(hits) < LEAST_SAMPLES:
            return SeenPart(share, (), stacks)
        lines = line_rows(hits, [home_of(cut(frames)) for frames in whole], place, has_device=False)
        return SeenPart(share, lines[:MOST_ROWS], stacks)
