"""A loop with a DataLoader, from event to event.

The training thread receives batches as they arrive, and hands them out in order. Batch `k` is built by worker
``k % workers``, one after the other, once its index is drawn, in the ``next()`` that hands out batch
``k - workers * prefetch``. Without order an index goes to the worker whose batch was handed out, as only that one has
less than `prefetch` of them then (torch's `_try_put_index`); unless each delivers as many (`Loop.keeps_shares`). The
time of a batch is its own, or its worker's (`Loop.built_by`). Where workers have parts of unequal size, epochs are
played one by one (`Loop.epochs`): an index goes to the next worker that has something left, and none is drawn beyond
the epoch. While the loop waits for another DataLoader (`Loop.paused_ns`), workers build ahead, and steps do not have
that time. Whoever works shares the CPUs there are: with more demand than CPUs, the part of the work that needs a CPU
takes as much longer. A worker that still sends one batch builds the next one more slowly (`Loop.send_ns`), and one
that builds holds up the receiving of its last one (`Loop.held_ns`). Where another thread receives batches ahead of the
loop (`Loop.ahead`), it draws the indices, and keeps so many of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Final

import numpy as np

from tb_dataplugin.whatif.contention import Slowed, longer
from tb_dataplugin.whatif.loop import NOTHING, Epoch, Floats, Loop, Rows, Timed, Work
from tb_dataplugin.whatif.taker import NEVER as _NEVER
from tb_dataplugin.whatif.taker import Taker

PAUSING: Final = Work(1.0)
"""An evaluation's batches are built by the training thread, or by a worker."""

LEAST_BATCHES: Final = 120
"""Simulated batches; twice those on the way come on top."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Which recorded batch, and which recorded step, stands for each simulated one."""

    batches: Rows
    steps: Rows
    epochs: tuple[int, ...] = ()
    """Which of `Loop.epochs`, where they are played; `batches` then says how far to go on in a worker's own."""

    @staticmethod
    def as_recorded(*loops: Loop) -> Orders:
        """As they came, over and over; as many as simulating any of these loops takes."""
        queued = max(loop.settings.workers * loop.settings.prefetch for loop in loops)
        count = LEAST_BATCHES + 3 * queued
        return Orders(np.arange(count), np.arange(count), _enough(loops[0].epochs))

    def __len__(self) -> int:
        return len(self.batches)


def _enough(epochs: Sequence[Epoch]) -> tuple[int, ...]:
    """The first of them, as far as they say more."""
    batches = np.cumsum([sum(map(len, epoch)) for epoch in epochs])
    return tuple(range(min(len(epochs), 1 + int((batches < LEAST_BATCHES).sum()))))


@dataclass(frozen=True, slots=True)
class Simulated:
    """Per step, in ns: its duration, and the data wait in it. `slowed`: how much longer the rest of it takes, for CPUs
    that others have; `receive_slowed`: what the training thread does in ``next()``; `build_slowed`: building.
    """

    step_ns: Floats
    wait_ns: Floats
    slowed: float
    receive_slowed: float = 1.0
    build_slowed: float = 1.0


@dataclass(slots=True)
class _Worker:
    """`number` among all. `left`: of the batch that it builds, in ns without contention; None while it has no index.
    It sends the one before from `sent_from` to `sent_at`.
    """

    number: int
    waiting: deque[int] = field(default_factory=deque)
    batch: int = -1
    left: float = _NEVER
    sent_from: float = 0.0
    sent_at: float = 0.0


class _Batches:
    """The time that each batch takes, as plain lists: a loop over numpy's numbers is three times as slow."""

    def __init__(self, loop: Loop, orders: Orders, parts: Epoch = ()) -> None:
        """`parts`: the rows of each worker, where it delivers these and no others."""
        batches = orders.batches
        rows = batches % len(loop.build)
        self.build = loop.build.total_ns[rows].tolist()
        times: Iterable[list[float]] = _by_worker(loop, rows)
        if parts:
            times = [loop.build.total_ns[list(part)].tolist() for part in parts]
        self._of_worker = [cycle(each) for each in times]
        self.way = loop.way_ns[batches % len(loop.way_ns)].tolist()
        rows = batches % len(loop.receive)
        self.taking = loop.taking_ns[rows].tolist()
        self.receive = (loop.receive.total_ns - loop.taking_ns)[rows].tolist()
        self.held = loop.held_ns[batches % len(loop.held_ns)].tolist()
        own = loop.own_ns[orders.steps % len(loop.own_ns)] / loop.batches_per_step
        self.own = own.tolist()
        self.paused = (loop.paused_ns[orders.steps % len(loop.paused_ns)] / loop.batches_per_step).tolist()

    def __len__(self) -> int:
        return len(self.build)

    def begin(self, number: int, worker: int) -> float:
        """How long that worker builds the batch of that number, which it begins with now."""
        return next(self._of_worker[worker]) if self._of_worker else self.build[number]


def _by_worker(loop: Loop, rows: Rows) -> Iterator[list[float]]:
    """The times of each worker's batches among these rows; of all of its own where none is among them."""
    workers = loop.settings.workers if loop.built_by else 0
    built_by, times = np.array(loop.built_by), loop.build.total_ns
    for worker in range(workers):
        mine = rows[built_by[rows] == worker]
        mine = mine if len(mine) else np.flatnonzero(built_by == worker)
        yield times[mine if len(mine) else rows].tolist()


def simulate(loop: Loop, orders: Orders) -> Simulated:
    """One run over the batches of `orders`; the whole rounds of workers in its last half count."""
    loop = _stretched(loop)
    batches = _Batches(loop, orders)
    if loop.settings.workers == 0:
        return _without_workers(loop, batches)
    if loop.epochs:
        return _epoch_by_epoch(loop, orders)
    run = _Run(loop, batches)
    handed, asked = run.run()
    rounds = len(handed) // (2 * loop.settings.workers)
    settled = len(handed) - max(1, rounds) * loop.settings.workers
    wait = np.subtract(handed, asked)[settled:]
    between = slice(settled - 1, len(handed) - 1)
    step, own = np.diff(handed[settled - 1 :]) - run.paused[between], np.array(batches.own[between])
    slowed = float((step - wait).sum() / own.sum()) if own.any() else 1.0
    per_step = step * loop.batches_per_step, wait * loop.batches_per_step
    return Simulated(*per_step, slowed, run.receive_time.slowed, run.build_time.slowed)


def _stretched(loop: Loop) -> Loop:
    """The times of its loader as they are simulated."""
    by = loop.stretched
    if by == 1:
        return loop
    return replace(
        loop,
        build=Timed(loop.build.parts, loop.build.ns * by),
        way_ns=loop.way_ns * by,
        receive=Timed(loop.receive.parts, loop.receive.ns * by),
        held_ns=loop.held_ns * by,
        around_ns=loop.around_ns * by,
        send_ns=loop.send_ns * by,
    )


def _epoch_by_epoch(loop: Loop, orders: Orders) -> Simulated:
    """All steps of each of these epochs."""
    steps, waits, own, first = [], [], [], 0
    received, built = Slowed(), Slowed()
    for number in orders.epochs or range(len(loop.epochs)):
        parts = loop.epochs[number]
        places = np.arange(first, first + sum(map(len, parts)))
        taken = Orders(orders.batches[places % len(orders)], orders.steps[places % len(orders)])
        batches = _Batches(loop, taken, _moved(loop, parts, int(orders.batches[first % len(orders)]) - first))
        run = _Run(loop, batches, [len(part) for part in parts])
        handed, asked = run.run()
        wait, step = np.subtract(handed, asked), np.diff([*asked, run.now]) - run.paused
        if loop.starts_left_out:
            step[0], wait[0] = step[0] - wait[0], 0.0
        queued = 0 if loop.whole_epochs else loop.settings.workers * loop.settings.prefetch
        counted = slice(queued if 2 * queued < len(step) else 0, None)  # a piece does not begin with an empty queue
        steps.append(step[counted])
        waits.append(wait[counted])
        own.append(batches.own[counted])
        received.add(run.receive_time.needed, run.receive_time.took)
        built.add(run.build_time.needed, run.build_time.took)
        first = places[-1] + 1
    step, wait, needed = np.concatenate(steps), np.concatenate(waits), float(np.concatenate(own).sum())
    slowed = float((step - wait).sum() / needed) if needed else 1.0
    per_step = step * loop.batches_per_step, wait * loop.batches_per_step
    return Simulated(*per_step, slowed, received.slowed, built.slowed)


def _moved(loop: Loop, parts: Epoch, by: int) -> Epoch:
    """As large, with each worker's batches taken from all of its own, so many further on."""
    if not by:
        return parts
    own = [sorted({row for epoch in loop.epochs for row in epoch[worker]}) for worker in range(len(parts))]
    return tuple(
        tuple(mine[(mine.index(row) + by) % len(mine)] for row in part) for part, mine in zip(parts, own, strict=True)
    )


def _without_workers(loop: Loop, batches: _Batches) -> Simulated:
    def slowed(work: Work) -> float:
        return work.slowed(longer(loop.left_cpus, loop.other_cpus, work)[0])

    receive = (np.array(batches.receive) + loop.around_ns) * slowed(loop.receiving)
    own, build = np.array(batches.own) * slowed(loop.step), np.array(batches.build) * slowed(loop.building)
    wait = (np.maximum(0.0, build.mean() - own - receive) if loop.ahead else build) + receive
    per_step = (wait + own) * loop.batches_per_step, wait * loop.batches_per_step
    return Simulated(*per_step, slowed(loop.step), slowed(loop.receiving), slowed(loop.building))


class _Run:
    """The state of a simulated run, and its clock."""

    def __init__(self, loop: Loop, batches: _Batches, parts: Sequence[int] = ()) -> None:
        """`parts`: how many batches each worker has; empty: as many as one likes."""
        self.loop, self.batches = loop, batches
        self.receiving, self.step = loop.receiving, loop.step
        self.building = loop.building
        self.slowed: dict[tuple[float, Work], tuple[float, float, float]] = {}
        self.takes_turns = loop.settings.in_order or loop.keeps_shares
        self.left = list(parts)
        self.turn = 0
        self.workers = [_Worker(number) for number in range(loop.settings.workers)]
        self.now = 0.0
        self.drawn = 0
        self.builder: list[_Worker] = []
        """Of each batch of which the index is drawn."""
        self.ready: dict[int, float] = {}
        self.received: list[int] = []
        self.taker: Taker | None = None
        if loop.ahead:
            times = batches.taking, batches.held
            in_order, draw = loop.settings.in_order, self._draw_after
            self.taker = Taker(loop.ahead, in_order, self.ready, *times, lambda batch: self.builder[batch].batch, draw)
        self.receive_time, self.build_time = Slowed(), Slowed()
        self.paused: list[float] = []
        """After each batch that was handed out, how long the loop waited for something else."""
        for _ in range(loop.settings.workers * loop.settings.prefetch):
            self._draw(self._in_turn())
        self.count = len(batches) if parts else len(batches) - self.drawn

    def run(self) -> tuple[list[float], list[float]]:
        """When each batch was handed out, and when it was asked for; up to the first with no index behind it."""
        handed, asked = [], []
        for number in range(self.count):
            asked.append(self.now)
            if self.taker is None:
                self._draw_after(self._next(number))
            else:
                self._train(self.batches.receive[self._next_kept(self.taker)], self.receiving)
            self._train(self.loop.around_ns, self.receiving)
            handed.append(self.now)
            self._train(self.batches.own[number], self.step)
            trained = self.now
            self._train(self.batches.paused[number], PAUSING)
            self.paused.append(self.now - trained)
        return handed, asked

    def _next(self, number: int) -> int:
        """Receive what arrives, up to the batch of that number, or to any; which batch is handed out."""
        in_order = self.loop.settings.in_order
        while (number not in self.received) if in_order else not self.received:
            batch = min(self.ready, key=self.ready.__getitem__, default=-1)
            at = self.ready.get(batch, _NEVER)
            if at <= self.now:
                del self.ready[batch]
                self._receive(batch)
                self.received.append(batch)
            else:
                self._advance(at)
        batch = number if in_order else self.received[0]
        self.received.remove(batch)
        return batch

    def _next_kept(self, taker: Taker) -> int:
        """Which batch another thread has for the loop."""
        while not taker.kept:
            self._advance(_NEVER)
        return taker.kept.pop(0)

    def _draw_after(self, batch: int) -> None:
        """An index, once that batch is handed out."""
        self._draw(self._in_turn() if self.takes_turns else self.builder[batch])

    def _receive(self, batch: int) -> None:
        self._train(self.batches.receive[batch], self.receiving)
        sender, until = self.builder[batch], self.now + self.batches.held[batch]
        building = sender.batch
        while self.now < until and building >= 0 and sender.batch == building:
            self._advance(until)

    def _train(self, ns: float, work: Work) -> None:
        """Of the training thread; so long without contention."""
        began, needed = self.now, ns
        while ns > 0:
            ns = self._advance(_NEVER, ns, work)
        if work is self.receiving:
            self.receive_time.add(needed, self.now - began)

    def _in_turn(self) -> _Worker:
        """The next one, of those that have something left."""
        for _ in self.workers:
            worker = self.workers[self.turn % len(self.workers)]
            self.turn += 1
            if not self.left or self.left[worker.number]:
                break
        return worker

    def _draw(self, worker: _Worker) -> None:
        """An index for that worker."""
        if self.drawn < len(self.batches):
            if self.left:
                worker = worker if self.left[worker.number] else self._in_turn()
                self.left[worker.number] -= 1
            self.builder.append(worker)
            worker.waiting.append(self.drawn)
            self.drawn += 1
            if worker.batch < 0:
                self._begin(worker)

    def _begin(self, worker: _Worker) -> None:
        if worker.waiting:
            worker.batch = worker.waiting.popleft()
            build = self.batches.begin(worker.batch, worker.number)
            worker.left = build + self.loop.send_ns * self._sending(worker)
        else:
            worker.batch, worker.left = -1, _NEVER

    def _sending(self, worker: _Worker) -> float:
        """The share of its last batch that it has not sent yet."""
        left, whole = worker.sent_at - self.now, worker.sent_at - worker.sent_from
        return left / whole if left > 0 else 0.0

    def _finish(self, worker: _Worker) -> None:
        """It sends its batch, undisturbed where there is no further one to build."""
        way = self.batches.way[worker.batch]
        if not worker.waiting:
            way = max(0.0, way - self.loop.send_ns)
        worker.sent_from, worker.sent_at = self.now, self.now + way
        self.ready[worker.batch] = worker.sent_at
        self._begin(worker)

    def _slowed(self, wanted: float, work: Work) -> tuple[float, float, float]:
        """How much longer building, that work of the training thread, and taking batches take while workers want so
        many CPUs; found once for each of the few that there are.
        """
        known = self.slowed.get((wanted, work))
        if known is None:
            own, others = longer(self.loop.left_cpus, self.loop.other_cpus + wanted, work)
            known = self.building.slowed(others), work.slowed(own), self.receiving.slowed(others)
            self.slowed[wanted, work] = known
        return known

    def _advance(self, until: float, ns: float = _NEVER, work: Work = NOTHING) -> float:
        """To the next event: it is `until`, the training thread has done `ns` of `work`, or a worker has finished a
        batch. What is left of `ns`.
        """
        loop, taker = self.loop, self.taker
        taken = _NEVER if taker is None else taker.until(self.now)
        busy = [worker for worker in self.workers if worker.batch >= 0]
        is_taking = taker is not None and taker.is_at_work
        wanted = len(busy) * loop.build_cpus + is_taking * loop.receive_cpus
        building, training, taking = self._slowed(wanted, work)
        least = min((worker.left for worker in busy), default=_NEVER)
        passed = min(least * building, ns * training, until - self.now, taken - self.now)
        if taker is not None and is_taking:
            passed = min(passed, taker.left * taking)
        self.now = until if passed == until - self.now else self.now + passed
        self.build_time.add(len(busy) * passed / building, len(busy) * passed)
        for worker in busy:
            worker.left -= passed / building
            if worker.left <= 1e-6 * building:
                self._finish(worker)
        if taker is not None:
            taker.work(passed / taking, self.now)
        left = ns - passed / training
        return left if left > 1e-6 * training else 0.0
