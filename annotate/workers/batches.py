"""The life of every batch that workers make, as the training process sees it: drawn, arrived, consumed.

torch asks the index sampler for one batch of indices each time it hands a batch out (and for some more before the
first). So an iterator around the sampler's sees every batch leave, plain ``for batch in loader`` loops included.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from time import perf_counter_ns
from typing import Any, Final

from annotate.workers.spool import InWork
from annotate.workers.transport import Facts, Tagged

KEPT: Final = 1 << 17
"""Batches remembered at most, the latest ones; about 200 bytes each."""


class Batch:
    """One batch; times in ``perf_counter_ns``, None: not yet, or not seen."""

    __slots__ = (
        "arrived",
        "batch",
        "consumed",
        "drawn",
        "epoch",
        "finished",
        "iteration",
        "loader",
        "pid",
        "started",
        "worker",
    )

    def __init__(self, loader: int, iteration: int, epoch: int, batch: int, drawn: int | None) -> None:
        self.loader = loader
        self.iteration = iteration
        self.epoch = epoch
        self.batch = batch
        self.drawn = drawn
        self.worker: int | None = None
        self.pid: int | None = None
        self.started: int | None = None
        self.finished: int | None = None
        self.arrived: int | None = None
        self.consumed: int | None = None

    def arrive(self, now: int, facts: Facts) -> None:
        self.worker, self.pid = facts.worker, facts.pid
        self.started = facts.started or None
        self.finished = facts.finished
        self.arrived = now

    def forget_worker(self) -> None:
        """What an earlier window told of a batch that has not arrived: its worker may be gone since."""
        if self.arrived is None:
            self.worker = self.pid = self.started = self.finished = None


class Iteration:
    """One ``iter(loader)``: an epoch of a loader."""

    def __init__(self, number: int, loader: int, epoch: int, *, in_order: bool, iterable: bool) -> None:
        self.number: Final = number
        self.loader: Final = loader
        self.epoch: Final = epoch
        self.is_starting = True
        """Until ``iter(loader)`` returns: what is drawn by then fills the queues."""
        self.is_open = True
        """Until the session ends."""
        self.outstanding: Final[dict[int, Batch]] = {}
        """Drawn and not consumed."""
        self.arrived: Final[dict[int, Batch]] = {}
        """Arrived and not consumed, in order of arrival."""
        self._in_order = in_order
        self.iterable: Final = iterable
        self._drawn = 0

    def draw(self, now: int) -> Batch:
        batch = Batch(self.loader, self.number, self.epoch, self._drawn, now)
        self.outstanding[self._drawn] = batch
        self._drawn += 1
        return batch

    def arrive(self, now: int, facts: Facts) -> None:
        batch = self.outstanding.get(facts.batch)
        if batch is not None:
            batch.arrive(now, facts)
            self.arrived[batch.batch] = batch

    def consume(self, now: int) -> Batch | None:
        """A batch is handed out: the first to have arrived when any order will do, else the lowest number.

        A batch that raised in its worker never arrives. Of a map-style dataset all numbers are handed out; of an
        iterable one not those that went to a worker that had come to its end.
        """
        candidates = list(self.arrived)
        if self._in_order and not self.iterable:
            candidates = list(self.outstanding)[:1]
        elif self._in_order:
            candidates.sort()
        if not candidates:
            return None
        batch = self.outstanding.pop(candidates[0])
        self.arrived.pop(candidates[0], None)
        batch.consumed = now
        return batch


class Batches:
    """All batches of a session."""

    def __init__(self) -> None:
        self.kept: deque[Batch] = deque(maxlen=KEPT)
        self.iterations: Final[dict[int, Iteration]] = {}
        self.workers: Final[dict[tuple[int, int], Facts]] = {}
        """Loader and pid -> the latest facts from that worker."""
        self.out_of_time = 0
        """Batches that arrived before they had finished, if the clocks of two processes ever disagree."""

    def arrive(self, facts: Facts) -> None:
        """A parcel has been unpacked."""
        now = perf_counter_ns()
        if now < facts.finished:
            self.out_of_time += 1
        self.workers[facts.loader, facts.pid] = facts
        iteration = self.iterations.get(facts.iteration)
        if iteration is not None:
            iteration.arrive(now, facts)
        elif facts.iteration < 0:
            batch = Batch(facts.loader, -1, 0, -1, None)
            batch.arrive(now, facts)
            self.kept.append(batch)

    def take_note(self, in_work: Iterable[InWork]) -> None:
        """Of batches that workers are making as a window closes.

        Not of iterable datasets: a worker that has come to its end is still given batches, and makes none.
        """
        for one in in_work:
            iteration = self.iterations.get(one.iteration)
            batch = None if iteration is None or iteration.iterable else iteration.outstanding.get(one.batch)
            if batch is not None and batch.arrived is None:
                batch.worker, batch.pid, batch.started = one.worker, one.pid, one.started

    def close(self) -> None:
        """The session ends: iterators that are still in use become plain ones."""
        for iteration in self.iterations.values():
            iteration.is_open = False

    def forget(self, before: int) -> None:
        """Drop what was consumed before a moment, and what is in work: it will be told anew."""
        kept = [batch for batch in self.kept if batch.consumed is None or batch.consumed >= before]
        for batch in kept:
            batch.forget_worker()
        self.kept = deque(kept, maxlen=KEPT)


class TaggingIterator:
    """A sampler's iterator whose indices know their batch number."""

    __slots__ = ("_batches", "_iteration", "_iterator")

    def __init__(self, iterator: Iterator[Any], iteration: Iteration, batches: Batches) -> None:
        self._iterator = iterator
        self._iteration = iteration
        self._batches = batches

    def __iter__(self) -> TaggingIterator:
        return self

    def __next__(self) -> Any:
        iteration = self._iteration
        if not iteration.is_open:
            return next(self._iterator)
        with suppress(Exception):  # a fault of ours costs a record, never a batch
            if not iteration.is_starting and is_for_a_batch():
                iteration.consume(perf_counter_ns())
        indices = next(self._iterator)
        with suppress(Exception):
            batch = iteration.draw(perf_counter_ns())
            self._batches.kept.append(batch)
            return Tagged(indices, iteration.number, batch.batch)
        return indices

    def __getattr__(self, name: str) -> Any:
        if name in TaggingIterator.__slots__:
            raise AttributeError(name)
        return getattr(self._iterator, name)


class SamplerProxy:
    """Stands for a loader's index sampler in the iterators of its epochs; plain unless one is just being made."""

    def __init__(self, target: Any, batches: Batches) -> None:
        self.target = target
        self.iteration: Iteration | None = None
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.target)
        return iterator if self.iteration is None else TaggingIterator(iterator, self.iteration, self._batches)

    def __len__(self) -> int:
        return len(self.target)

    def __getattr__(self, name: str) -> Any:
        if name == "target":
            raise AttributeError(name)
        return getattr(self.target, name)


def is_for_a_batch() -> bool:
    """True when torch draws because it hands a batch out.

    The other occasion: a worker of an iterable dataset has come to its end. Told apart by the name of torch's own
    method (unchanged since torch 1.2); where that is not to be found, each draw is taken to be for a batch.
    """
    frame = sys._getframe(2)
    for _ in range(4):
        name = frame.f_code.co_name
        if name == "_process_data":
            return True
        if name in ("_next_data", "_reset"):
            return False
        if frame.f_back is None:
            break
        frame = frame.f_back
    return True
