"""DataLoader workers: what each did while it lived, and what became of every batch that they made.

*alive* is the process's lifetime within the window (`lifetimes`). *busy* is building batches, from a batch's start to
its finish. *starved* is idle time without an index to work on (no batch of that worker was drawn and unfinished) while
the loader still had indices to give: before the first and after the last index of an epoch nothing is missing. That
time is *epoch over*.
*in queue* is a finished batch until the training thread asks for it; the part of that in which an earlier one held it
back is its head-of-line wait (`head_of_line`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.head_of_line import head_of_line_times, unordered_loaders
from tb_dataplugin.analyses.index_supply import given_to
from tb_dataplugin.analyses.lifetimes import known, lifetimes
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable, Trace, WorkerProcess

BoolArray = npt.NDArray[np.bool_]

MAX_QUEUE_POINTS: Final = 4000


@dataclass(frozen=True, slots=True)
class WorkerTimes:
    """One process of a DataLoader worker within the window: ``busy + idle = alive``.

    `starved`, `startup` and `epoch_over` are parts of idle. `outstanding` is when it had an index to work on.
    """

    process: WorkerProcess
    batches: int
    alive: Intervals
    busy: Intervals
    idle: Intervals
    outstanding: Intervals
    starved: Intervals
    startup: Intervals
    epoch_over: Intervals
    build_ns: Int64Array
    """Of each batch that it finished in the window, where its start is known."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One DataLoader worker id: all processes that were this worker in the window, oldest first, usually one after the
    other.

    `skew` is its busy share of its lifetime over that of all its loader's workers together; None where none was busy.
    """

    processes: tuple[WorkerTimes, ...]
    skew: float | None = None

    @property
    def loader(self) -> int:
        return self.processes[0].process.loader

    @property
    def worker(self) -> int:
        return self.processes[0].process.worker

    @property
    def batches(self) -> int:
        return sum(times.batches for times in self.processes)

    @property
    def alive_ns(self) -> int:
        return sum(times.alive.total_ns for times in self.processes)

    @property
    def busy_ns(self) -> int:
        return sum(times.busy.total_ns for times in self.processes)

    @property
    def idle_ns(self) -> int:
        return sum(times.idle.total_ns for times in self.processes)

    @property
    def starved_ns(self) -> int:
        return sum(times.starved.total_ns for times in self.processes)

    @property
    def startup_ns(self) -> int:
        return sum(times.startup.total_ns for times in self.processes)

    @property
    def epoch_over_ns(self) -> int:
        return sum(times.epoch_over.total_ns for times in self.processes)

    @property
    def mean_build_ns(self) -> float | None:
        """Of the batches that it finished in the window; None of none."""
        return float(self.build_ns.mean()) if len(self.build_ns) else None

    @property
    def longest_build_ns(self) -> int | None:
        return int(max(self.build_ns, default=0)) or None

    @property
    def build_ns(self) -> Int64Array:
        """Of each of these."""
        return np.concatenate([times.build_ns for times in self.processes])

    @property
    def dropped_spans(self) -> int:
        return sum(times.process.dropped_spans for times in self.processes)


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Per row of the batch table (ns, or `UNKNOWN_NS`): its wait on the training thread, and what it cost.

    `wait_start_ns`, `wait_end_ns` bound the wait that received the batch. `in_queue_ns`, `head_of_line_ns` are of the
    batch, also where it was finished before the window: neither is cut where the window begins. `held_back_ns` is what
    the window has of its head-of-line wait, also of a batch that the loop got after it.
    """

    table: BatchTable
    wait_start_ns: Int64Array
    wait_end_ns: Int64Array
    in_queue_ns: Int64Array
    head_of_line_ns: Int64Array
    held_back_ns: Int64Array

    @property
    def wait_ns(self) -> Int64Array:
        """The whole wait that received it."""
        return _between(self.wait_start_ns, self.wait_end_ns)

    @property
    def build_ns(self) -> Int64Array:
        """From its start to its finish."""
        return _between(self.table.started_ns, self.table.finished_ns)


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Of one loader: batches ready and in flight from each time on.

    Every change; where there are too many to draw, of each stretch the moments of fewest and of most ready.
    """

    loader: int
    time_ns: Int64Array
    ready: Int64Array
    in_flight: Int64Array


@dataclass(frozen=True, slots=True)
class Workers:
    """`times` by process, `rows` by worker id.

    `clock_violations`: batches that arrived before they were finished, which can't be: the clocks disagree then.

    `from_before`: batches of a loader that were handed out in the window, when all had been finished before it; else 0.
    `unordered`: loaders whose batches are taken as they come (``in_order=False``); `iterable`: of whose dataset each
    worker has an iterator of its own. `numbers`: how many workers a loader has, where known.
    """

    times: tuple[WorkerTimes, ...]
    rows: tuple[WorkerRow, ...]
    batches: BatchTimes
    queues: tuple[QueueDepth, ...]
    clock_violations: int
    from_before: int
    unordered: frozenset[int] = frozenset()
    iterable: frozenset[int] = frozenset()
    numbers: Mapping[int, int] = field(default_factory=dict)

    def take_turns(self, loader: int) -> bool:
        """The batches of that loader are taken from one worker after the other."""
        return loader not in self.unordered


def find_workers(
    trace: Trace, window: Window, loader: LoaderWait | None, recorded: LoaderWait | None = None
) -> Workers | Unavailable:
    """`recorded`: the waits of all recorded steps, where `window` has some of them only."""
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.batches is None or not pipeline.workers or not len(pipeline.batches):
        return _no_records(trace)
    unordered = unordered_loaders(pipeline.loaders)
    batches = match_waits(pipeline.batches, loader, unordered, window, recorded)
    numbers = sorted({worker.loader for worker in pipeline.workers})
    lives = lifetimes(pipeline.workers, pipeline.batches, window)
    times = tuple(
        _one_worker(worker, pipeline.batches, life, given_to(trace, worker, window), window)
        for worker, life in zip(pipeline.workers, lives, strict=True)
    )
    return Workers(
        times=times,
        rows=_rows(times),
        batches=batches,
        queues=tuple(_queue(pipeline.batches, number, window) for number in numbers),
        clock_violations=_clock_violations(pipeline.batches),
        from_before=max(_from_before(pipeline.batches, number, window) for number in numbers),
        unordered=unordered,
        iterable=frozenset(number for number, one in enumerate(pipeline.loaders) if one.iterable),
        numbers={number: one.num_workers for number, one in enumerate(pipeline.loaders) if one.num_workers},
    )


def _no_records(trace: Trace) -> Unavailable:
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    if trace.info.mode != "replay" and any(loader.num_workers for loader in loaders):
        message = (
            "The loader has DataLoader workers, but none of them recorded anything: enter annotate.profile before the "
            "workers start (before iter(loader)), and annotate the loader that the loop really uses"
        )
        return Unavailable("workers", "no_worker_records", message)
    message = (
        "The trace has no records of DataLoader workers: capture with annotate.profile and a loader that has workers"
    )
    return Unavailable("workers", "no_workers", message)


def workers_alive(times: Sequence[WorkerTimes]) -> float:
    """How many were alive at once, on average over the time in which any was; 0.0 without any."""
    together = Intervals.union_of(worker.alive for worker in times).total_ns
    return sum(worker.alive.total_ns for worker in times) / together if together else 0.0


def rows_touched(table: BatchTable, window: Window) -> Int64Array:
    """Rows of the batches that the window touches: from the drawing of its indices until the loop has it."""
    times = (table.drawn_ns, table.started_ns, table.finished_ns, table.arrived_ns, table.consumed_ns)
    first = np.min([np.where(known(time), time, np.iinfo(np.int64).max) for time in times], axis=0)
    last = np.max(times, axis=0)
    is_gone = known(table.consumed_ns) & (last < window.start_ns)
    return np.flatnonzero((first <= window.end_ns) & ~is_gone)


def _between(start: Int64Array, end: Int64Array) -> Int64Array:
    """Time from one to the other; `UNKNOWN_NS` where one of them is."""
    return np.where(known(start) & known(end), end - start, UNKNOWN_NS)


def _clock_violations(table: BatchTable) -> int:
    both = known(table.arrived_ns) & known(table.finished_ns)
    return int((both & (table.arrived_ns < table.finished_ns)).sum())


def _from_before(table: BatchTable, loader: int, window: Window) -> int:
    taken = (table.consumed_ns >= window.start_ns) & (table.consumed_ns <= window.end_ns) & (table.loader == loader)
    before = known(table.finished_ns) & (table.finished_ns < window.start_ns)
    return int(taken.sum()) if (before | ~taken).all() else 0


def match_waits(
    table: BatchTable,
    loader: LoaderWait | None,
    unordered: frozenset[int],
    window: Window,
    recorded: LoaderWait | None = None,
) -> BatchTimes:
    """The wait that received a batch is the one in which the training thread took it; `recorded` may have earlier ones,
    too.
    """
    start, end = _receiving(table, loader)
    whole = (start, end) if recorded is None else _receiving(table, recorded)
    in_queue, head_of_line = np.full(len(table), UNKNOWN_NS), np.full(len(table), UNKNOWN_NS)
    ready = known(start) & known(whole[0]) & known(table.finished_ns)
    in_queue[ready] = np.maximum(whole[0][ready] - table.finished_ns[ready], 0)
    head_of_line[ready] = head_of_line_times(table, *whole, unordered)[ready]
    held_back = head_of_line_times(table, *whole, unordered, within=window)
    return BatchTimes(table, start, end, in_queue, head_of_line, held_back)


def _receiving(table: BatchTable, loader: LoaderWait | None) -> tuple[Int64Array, Int64Array]:
    """Start and end of the wait that received each batch; unknown where none did."""
    start, end = np.full(len(table), UNKNOWN_NS), np.full(len(table), UNKNOWN_NS)
    waits = EMPTY if loader is None else loader.waits
    received_ns = table.received_ns
    received = known(received_ns)
    if len(waits) and received.any():
        row = np.searchsorted(waits.start, received_ns, side="right") - 1
        inside = received & (row >= 0) & (received_ns <= waits.end[np.maximum(row, 0)])
        start[inside], end[inside] = waits.start[row[inside]], waits.end[row[inside]]
    return start, end


def _one_worker(
    process: WorkerProcess, table: BatchTable, life: Window, given: Intervals, window: Window
) -> WorkerTimes:
    """`given`: when its loader had indices to give."""
    mine = (table.pid == process.pid) & (table.loader == process.loader)
    drawn, started = table.drawn_ns[mine], table.started_ns[mine]
    finished, arrived = table.finished_ns[mine], table.arrived_ns[mine]
    until = np.where(known(finished), finished, np.where(known(arrived), arrived, life.end_ns))
    begun, asked = known(started), known(drawn)
    busy = Intervals.union(started[begun], until[begun]).clip(window)
    outstanding = Intervals.union_of((Intervals.union(drawn[asked], until[asked]), busy)).clip(window)
    alive = Intervals.union_of((Intervals.union([life.start_ns], [life.end_ns]).clip(window), busy))
    idle = alive.minus(busy)
    startup = idle.intersect(Intervals.union([life.start_ns], [process.started_ns]))
    without_index = idle.minus(outstanding).minus(startup)
    ended = known(finished) & (finished >= window.start_ns) & (finished < window.end_ns)
    measured = ended & begun
    return WorkerTimes(
        process=process,
        batches=int(ended.sum()),
        alive=alive,
        busy=busy,
        idle=idle,
        outstanding=outstanding,
        starved=without_index.intersect(given),
        startup=startup,
        epoch_over=without_index.minus(given),
        build_ns=finished[measured] - started[measured],
    )


def _rows(times: tuple[WorkerTimes, ...]) -> tuple[WorkerRow, ...]:
    """By loader and worker id."""
    by_worker: dict[tuple[int, int], list[WorkerTimes]] = {}
    for worker in sorted(times, key=lambda worker: (worker.process.started_ns, worker.process.pid)):
        by_worker.setdefault((worker.process.loader, worker.process.worker), []).append(worker)
    rows = [WorkerRow(_of_the_window(by_worker[key])) for key in sorted(by_worker)]
    busy: dict[int, int] = {}
    alive: dict[int, int] = {}
    for row in rows:
        busy[row.loader] = busy.get(row.loader, 0) + row.busy_ns
        alive[row.loader] = alive.get(row.loader, 0) + row.alive_ns
    return tuple(WorkerRow(row.processes, _skew(row, busy[row.loader], alive[row.loader])) for row in rows)


def _of_the_window(processes: Sequence[WorkerTimes]) -> tuple[WorkerTimes, ...]:
    """Those that lived in it; all, if none did."""
    return tuple(times for times in processes if times.alive.total_ns) or tuple(processes)


def living(rows: Sequence[WorkerRow]) -> list[WorkerRow]:
    """Those that were alive in the window; all, if none was. Of an iterable dataset without `persistent_workers` the
    processes end one by one, each at the end of its part.
    """
    return [row for row in rows if row.alive_ns] or list(rows)


def _skew(row: WorkerRow, busy_ns: int, alive_ns: int) -> float | None:
    """The busy share of its lifetime over that of all workers of its loader."""
    return row.busy_ns * alive_ns / (row.alive_ns * busy_ns) if busy_ns and row.alive_ns else None


def _queue(table: BatchTable, loader: int, window: Window) -> QueueDepth:
    """A batch is in flight from its draw to its finish, and ready from there to its consumption."""
    mine = table.loader == loader
    drawn, finished, consumed = table.drawn_ns[mine], table.finished_ns[mine], table.consumed_ns[mine]
    changes = [
        (drawn[known(drawn)], 0, 1),
        (finished[known(finished) & known(drawn)], 0, -1),
        (finished[known(finished)], 1, 0),
        (consumed[known(consumed) & known(finished)], -1, 0),
    ]
    time = np.concatenate([times for times, _, _ in changes])
    ready = np.concatenate([np.full(len(times), step) for times, step, _ in changes])
    flying = np.concatenate([np.full(len(times), step) for times, _, step in changes])
    moments, position = np.unique(time, return_inverse=True)
    ready_at = np.cumsum(np.bincount(position, ready, minlength=len(moments))).astype(np.int64)
    flying_at = np.cumsum(np.bincount(position, flying, minlength=len(moments))).astype(np.int64)
    inside = (moments >= window.start_ns) & (moments <= window.end_ns)
    return _thinned(QueueDepth(loader, moments[inside], ready_at[inside], flying_at[inside]))


def _thinned(depth: QueueDepth) -> QueueDepth:
    count = len(depth.time_ns)
    if count <= MAX_QUEUE_POINTS:
        return depth
    stretches = np.array_split(np.arange(count), MAX_QUEUE_POINTS // 2)
    chosen = [(rows[depth.ready[rows].argmin()], rows[depth.ready[rows].argmax()]) for rows in stretches]
    rows = np.unique(np.array(chosen))
    return QueueDepth(depth.loader, depth.time_ns[rows], depth.ready[rows], depth.in_flight[rows])
