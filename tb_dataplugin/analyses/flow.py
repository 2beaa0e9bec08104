"""How batches flowed from the workers to the training thread: who was busy, what was held back, what epoch starts cost.

*Head of line* is the data wait for a batch that is not finished, during which a later one of its pass is. An *epoch
start* is the wait that follows ``iter(loader)``: it includes starting the workers, unless they persist, and building
the first batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotate.trace_format import FIRST_BATCH
from tb_dataplugin.analyses.batch_shares import received_in_turn
from tb_dataplugin.analyses.head_of_line import waits_with_later_finished
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.pace import Pace, find_pace
from tb_dataplugin.analyses.parts import Parts, find_parts
from tb_dataplugin.analyses.smoothing import BoolArray, Smoothing, find_smoothing
from tb_dataplugin.analyses.stock import find_stock, taken_in
from tb_dataplugin.analyses.workers import BatchTimes, WorkerRow, Workers, living
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, Trace

TORCHS_PREFETCH: Final = 2
"""DataLoader's own default per worker."""

NONE: Final[BoolArray] = np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class EpochStart:
    """`repeated`: not the first epoch of the loader, so persistent workers would have been there already.

    `building`: the part of the wait in which the batch that ended it was being built, as any worker would have to. Of
    a map-style dataset at most as long as batches typically take: the first may load what a worker that lives on has.
    `loader`: whose epoch it is, by its number; None where that is not known.
    """

    wait: Intervals
    repeated: bool
    building: Intervals
    loader: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerFlow:
    """Of one loader, without the starts of epochs and pauses. Shares are of the lifetime of its workers, all together.

    `workers` counts worker ids, `alive` is how many lived at once, on average. `slowest` is the worker
    with the largest skew (its busy share over that of all); `batches` is how many each worker finished in the window,
    on average. `pace`: of workers that differ by more than chance. `parts`: of an iterable dataset, of unequal size.
    """

    workers: int
    alive: float
    batches: float
    busy: float
    starved: float
    slowest: int
    skew: float
    head_of_line: Intervals
    on_way: Intervals
    """Waits during which the batch that they received was finished, and not yet handed out: of all its loaders."""
    pace: Pace | None = None
    parts: Parts | None = None
    largest_busy: float = 0.0
    """Share of the loop's time in which the worker of the largest part builds batches."""
    taken_per_built: float | None = None
    """Batches that the loop took in the window, for each that was built in it, parts of batches included. Above 1 the
    loop lived on batches from before. None: none was built.
    """
    spared: float = 0.0
    """What a worker did not build of the batches taken, on average, since an epoch came to its end and no indices were
    left: as a share of the loop's time. 0.0 in the middle of an epoch.
    """
    slowest_spared: float = 0.0
    """The same of the worker of the largest part, else of the slowest one."""
    smoothing: Smoothing | None = None
    """None where no build time is known."""
    life_ns: int = 0
    """Of all workers together, which shares are of."""


@dataclass(frozen=True, slots=True)
class Flow:
    """`workers` is None without records of DataLoader workers."""

    workers: WorkerFlow | None
    epoch_starts: tuple[EpochStart, ...]


def find_worker_flow(
    workers: Workers | None,
    window: Window,
    waits: Intervals,
    apart: Intervals,
    number: int,
    prefetch: int = TORCHS_PREFETCH,
    first: BoolArray | None = None,
    ahead: Intervals = EMPTY,
) -> WorkerFlow | None:
    """Of that loader. `waits`: of the training loop as it goes on. `apart`: other waits of it, which do not count, and
    `first` the batches that these were for. `ahead`: of other DataLoaders, in which its workers build on.
    """
    rows = living([row for row in workers.rows if row.loader == number]) if workers else []
    left = [_without(row, apart) for row in rows]
    whole, span = sum(times.alive for times in left), window.duration_ns - apart.total_ns
    if workers is None or not whole or span <= 0:
        return None
    busy = sum(times.busy for times in left)
    skews = [times.busy * whole / (times.alive * busy) if busy and times.alive else 0.0 for times in left]
    slowest = max(range(len(rows)), key=lambda place: (skews[place], -rows[place].worker))
    starved = [each.starved.minus(apart) for row in rows for each in row.processes]
    parts, in_turn = find_parts(workers, window, number), workers.take_turns(number)
    mine = workers.batches.table.loader == number
    stock = find_stock(workers.batches, window, mine, in_turn=in_turn)
    limits, each = (parts.largest, None) if parts else (rows[slowest].worker, 1 / len(rows))
    builds = {row.worker: times.busy / span for row, times in zip(rows, left, strict=True)}
    return WorkerFlow(
        workers=len(rows),
        alive=whole / span,
        batches=sum(row.batches for row in rows) / len(rows),
        busy=busy / whole,
        starved=sum(times.starved for times in left) / whole,
        slowest=rows[slowest].worker,
        skew=skews[slowest],
        head_of_line=_head_of_line(workers.batches, number).intersect(waits),
        on_way=_on_way(workers.batches, waits),
        pace=find_pace(rows),
        parts=parts,
        largest_busy=builds.get(parts.largest, 0.0) if parts else 0.0,
        taken_per_built=stock.taken_per_built,
        spared=stock.spared_ns / (span * len(rows)),
        slowest_spared=_spared_of(limits, each, workers.batches, window, mine, in_turn=in_turn) / span,
        smoothing=find_smoothing(
            starved, workers.batches, window, number, prefetch, NONE if first is None else first, ahead
        ),
        life_ns=whole,
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """Of one worker's time (ns)."""

    alive: int
    busy: int
    starved: int


def _without(row: WorkerRow, apart: Intervals) -> _Left:
    def left(parts: Iterable[Intervals]) -> int:
        return sum(part.minus(apart).total_ns for part in parts)

    times = row.processes
    return _Left(
        left(each.alive for each in times), left(each.busy for each in times), left(each.starved for each in times)
    )


def _head_of_line(batches: BatchTimes, loader: int) -> Intervals:
    return waits_with_later_finished(batches.table, batches.wait_start_ns, batches.wait_end_ns, loader)


def _on_way(batches: BatchTimes, waits: Intervals) -> Intervals:
    table, received = batches.table, received_in_turn(batches)
    start = np.maximum(table.finished_ns[received.row], received.start)
    return Intervals.union(start, np.maximum(start, table.consumed_ns[received.row])).intersect(waits)


def _spared_of(
    worker: int, share: float | None, batches: BatchTimes, window: Window, mine: BoolArray, *, in_turn: bool
) -> float:
    """`Stock.spared_ns` of this worker. `share`: of the batches that are taken, where all have as many: a window may
    have one more of it.
    """
    table = batches.table
    stock = find_stock(batches, window, mine & (table.worker == worker), in_turn=in_turn)
    if share is None:
        return stock.spared_ns
    return replace(stock, taken=min(stock.taken, share * int((mine & taken_in(table, window)).sum()))).spared_ns


def find_epoch_starts(
    trace: Trace, loader: LoaderWait | None, window: Window, batches: BatchTimes | None
) -> tuple[EpochStart, ...]:
    """Of all loaders. In a capture of workers the epoch of the batch received decides; else all but the first count as
    repeated. Where no wait is marked, only those are known that begin a later epoch, or whose batch was drawn in the
    window.
    """
    if loader is None or loader.first_batches is None:
        return ()
    marked = any(stage.label.endswith(FIRST_BATCH) for stage in trace.stage_spans.stages)
    start, end = loader.first_batches.start, loader.first_batches.end
    received = np.full(len(start), -1) if batches is None else _first_received(batches, start, end)
    epoch = received if batches is None else _epochs_of(batches, received)
    repeated = np.where(epoch < 0, np.arange(len(start)) > 0, epoch > 0)
    drawn = np.zeros(len(start), dtype=np.bool_)
    if batches is not None and len(batches.table):
        drawn = (received >= 0) & (batches.table.drawn_ns[received] > window.start_ns)
    first_ns, last_ns = np.maximum(start, window.start_ns), np.minimum(end, window.end_ns)
    return tuple(
        EpochStart(_with_iter(loader, begin, end), again, _building(trace, batches, row, begin, end))
        for begin, end, again, row, begun in zip(
            first_ns.tolist(), last_ns.tolist(), repeated.tolist(), received.tolist(), drawn.tolist(), strict=True
        )
        if begin < end and (marked or again or begun)
    )


def _with_iter(loader: LoaderWait, start: int, end: int) -> Intervals:
    """A wait for a first batch, and those in ``iter(loader)`` since the last one for a batch before it."""
    for_batches = loader.waits.minus(loader.made)
    before = int(for_batches.end[for_batches.end <= start].max(initial=np.iinfo(np.int64).min))
    mine = (loader.made.start >= before) & (loader.made.end <= start)
    return Intervals.union(np.append(loader.made.start[mine], start), np.append(loader.made.end[mine], end))


def _building(trace: Trace, batches: BatchTimes | None, row: int, start: int, end: int) -> Intervals:
    """Of the wait from `start` to `end`, in which the batch in that row was received; -1: none."""
    if batches is None or row < 0 or batches.build_ns[row] == UNKNOWN_NS:
        return EMPTY
    number, took = int(batches.table.loader[row]), int(batches.build_ns[row])
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    if number >= len(loaders) or not loaders[number].iterable:
        others = batches.build_ns[(batches.table.loader == number) & known(batches.build_ns)]
        took = min(took, int(np.median(others)))
    finished = int(batches.table.finished_ns[row])
    return Intervals.union([finished - took], [finished]).clip(Window(start, end))


def _first_received(batches: BatchTimes, start: Int64Array, end: Int64Array) -> Int64Array:
    """Per wait, the row of the batch that was handed out in it, of several the first in the table; -1 for none."""
    table = batches.table
    received_ns = table.received_ns
    rows = np.flatnonzero(known(received_ns))
    rows = rows[np.argsort(received_ns[rows], kind="stable")]
    consumed = received_ns[rows]
    first, last = np.searchsorted(consumed, start), np.searchsorted(consumed, end, side="right")
    inside = last > first
    received = np.full(len(start), -1, dtype=np.int64)
    if inside.any():
        edges = np.stack((first[inside], last[inside]), axis=1).ravel()
        received[inside] = np.minimum.reduceat(np.append(rows, len(table)), edges)[::2]
    return received


def _epochs_of(batches: BatchTimes, rows: Int64Array) -> Int64Array:
    """Of the batches in these rows; -1 for none."""
    if not len(batches.table):
        return rows
    return np.where(rows < 0, -1, np.maximum(batches.table.epoch[rows], 0))
