"""The DataLoader workers of one loader together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.pace import Pace, find_pace
from tb_dataplugin.analyses.parts import Parts, find_parts
from tb_dataplugin.analyses.stock import taken_in
from tb_dataplugin.analyses.worker_inits import longest_start_ns
from tb_dataplugin.analyses.workers import BatchTimes, Workers, living
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import BatchTable


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """`alive_ns`, `busy_ns`, `starved_ns` and `epoch_over_ns` are means per DataLoader worker, all its processes
    together; `startup_ns` is the longest of its processes, and `init_ns` what of that was in ``worker_init_fn``. Shares
    of the workers' time are of `alive_ns`.

    `workers` counts worker ids that lived in the window, `processes` the processes behind them. `wait_ns` is the data
    wait for this loader's batches, `ready_wait_share` the part of it that was spent on batches which were finished
    before. `most_skewed` is the worker with most work, `skew` its busy share over that of all. None: not known. `pace`:
    where workers differ by more than chance. `in_turn`: batches are taken from one after the other. `own_parts`: each
    has to deliver its own part of an iterable dataset. `parts`: where these are of unequal size. `absent`: of such a
    dataset, workers that are not among `workers`: they had ended, as a rule at the end of their part.

    `elsewhere`: another thread than the training one took all batches that were taken of it in the window, none of them
    for a wait of the training thread.

    `quiet`: they built nothing in the window, in which another loader's workers finished batches. As a rule they are
    those of validation, which persist.
    """

    loader: int
    workers: int
    processes: int
    batches: int
    alive_ns: float
    busy_ns: float
    starved_ns: float
    epoch_over_ns: float
    startup_ns: int
    head_of_line_ns: int | None
    wait_ns: int | None
    ready_wait_share: float | None
    most_skewed: int
    skew: float | None
    quiet: bool = False
    pace: Pace | None = None
    in_turn: bool = True
    own_parts: bool = False
    parts: Parts | None = None
    absent: int = 0
    init_ns: int = 0
    elsewhere: bool = False


def summarise_workers(
    workers: Workers, window: Window, loader: LoaderWait | None, use: LoaderUse
) -> tuple[WorkerSummary, ...]:
    """By loader, that which the training loop waits for first."""
    numbers = sorted({row.loader for row in workers.rows}, key=lambda number: (number != use.in_workers, number))
    summaries = [_summarise(workers, window, number, _waits_for(loader, use, number)) for number in numbers]
    if loader is None:  # a thread that takes all batches may feed the training
        summaries = [replace(one, elsewhere=False) for one in summaries]
    worked = any(one.batches for one in summaries)
    return tuple(replace(one, quiet=worked and not one.batches and not one.busy_ns) for one in summaries)


def _waits_for(loader: LoaderWait | None, use: LoaderUse, number: int) -> int | None:
    """Data wait for that loader, in ``iter(loader)`` and while its workers end as well; None where that is unknown."""
    if loader is None or len(use.of_wait) != len(loader.waits):
        return None
    mine = use.of_wait == number
    return int(loader.waits.durations[mine].sum()) if mine.any() else None


def _summarise(workers: Workers, window: Window, number: int, wait_ns: int | None) -> WorkerSummary:
    """`wait_ns`: the data wait for it; else that for batches that were received of it."""
    rows = living([row for row in workers.rows if row.loader == number])
    processes = [times for row in rows for times in row.processes]
    batches = workers.batches
    waits = _of_loader(batches, number, batches.wait_end_ns) - _of_loader(batches, number, batches.wait_start_ns)
    in_queue = _of_loader(batches, number, batches.in_queue_ns)
    head_of_line = _of_loader(batches, number, batches.held_back_ns)
    head_of_line = head_of_line[known(head_of_line)]
    waited = known(_of_loader(batches, number, batches.wait_start_ns))
    elsewhere = _taken_elsewhere(batches.table, number, window)
    wait_ns = None if elsewhere else wait_ns
    startup_ns, init_ns = longest_start_ns(processes)
    whole = int(waits[waited].sum())
    ready = int(waits[waited & (in_queue > 0)].sum())
    skewed = rows[int(np.argmax([row.skew or 0.0 for row in rows]))]
    return WorkerSummary(
        loader=number,
        workers=len(rows),
        absent=max(0, workers.numbers.get(number, 0) - len(rows)) if number in workers.iterable else 0,
        processes=len(processes),
        batches=sum(row.batches for row in rows),
        alive_ns=_mean(row.alive_ns for row in rows),
        busy_ns=_mean(row.busy_ns for row in rows),
        starved_ns=_mean(row.starved_ns for row in rows),
        epoch_over_ns=_mean(row.epoch_over_ns for row in rows),
        startup_ns=startup_ns,
        init_ns=init_ns,
        head_of_line_ns=int(head_of_line.sum()) if len(head_of_line) else None,
        wait_ns=wait_ns if wait_ns is not None else whole if waited.any() else None,
        ready_wait_share=ready / whole if whole else None,
        most_skewed=skewed.worker,
        skew=skewed.skew,
        pace=find_pace(rows),
        in_turn=workers.take_turns(number),
        own_parts=number in workers.iterable,
        parts=find_parts(workers, window, number),
        elsewhere=elsewhere,
    )


def _taken_elsewhere(table: BatchTable, number: int, window: Window) -> bool:
    taken = (table.loader == number) & taken_in(table, window)
    return bool(taken.any()) and bool((table.elsewhere[taken] > 0).all())


def ready_share(batches: BatchTimes, number: int, waits: Intervals) -> float | None:
    """Of these waits of a loader, those for batches that were finished before."""
    ready = (batches.table.loader == number) & known(batches.wait_start_ns) & (batches.in_queue_ns > 0)
    mine = Intervals.union(batches.wait_start_ns[ready], batches.wait_end_ns[ready])
    return mine.intersect(waits).total_ns / waits.total_ns if waits.total_ns else None


def _of_loader(batches: BatchTimes, number: int, column: Int64Array) -> Int64Array:
    rows: Int64Array = column[batches.table.loader == number]
    return rows


def _mean(times: Iterable[int]) -> float:
    return float(np.mean(list(times)))
