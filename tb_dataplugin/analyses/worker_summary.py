"""The DataLoader workers of one loader together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.workers import BatchTimes, Workers, WorkerTimes, known
from tb_dataplugin.model.intervals import Int64Array


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """`busy_ns` and `starved_ns` are means per DataLoader worker; `startup_ns` is the longest of its processes.

    `workers` counts worker ids, `processes` the processes behind them. `wait_ns` is the data wait for this loader's
    batches, `ready_wait_share` the part of it that was spent on batches which were finished before. `most_skewed` is
    the worker with most work, `skew` its busy time over the mean. None: not known.
    """

    loader: int
    workers: int
    processes: int
    batches: int
    busy_ns: float
    starved_ns: float
    startup_ns: int
    head_of_line_ns: int | None
    wait_ns: int | None
    ready_wait_share: float | None
    most_skewed: int
    skew: float | None


def summarise_workers(workers: Workers, loader: LoaderWait | None) -> tuple[WorkerSummary, ...]:
    """By loader."""
    numbers = sorted({times.process.loader for times in workers.times})
    only = loader if len(numbers) == 1 else None
    return tuple(_summarise(workers, number, only) for number in numbers)


def _summarise(workers: Workers, number: int, only: LoaderWait | None) -> WorkerSummary:
    """`only`: the data wait where it is for this loader alone."""
    times = [worker for worker in workers.times if worker.process.loader == number]
    count = len({worker.process.worker for worker in times})
    batches = workers.batches
    waits = _of_loader(batches, number, batches.wait_end_ns) - _of_loader(batches, number, batches.wait_start_ns)
    in_queue = _of_loader(batches, number, batches.in_queue_ns)
    head_of_line = _of_loader(batches, number, batches.head_of_line_ns)
    head_of_line = head_of_line[known(head_of_line)]
    waited = known(_of_loader(batches, number, batches.wait_start_ns))
    whole = int(waits[waited].sum())
    ready = int(waits[waited & (in_queue > 0)].sum())
    skewed = _most_skewed(times)
    return WorkerSummary(
        loader=number,
        workers=count,
        processes=len(times),
        batches=sum(worker.batches for worker in times),
        busy_ns=sum(worker.busy.total_ns for worker in times) / count,
        starved_ns=sum(worker.starved.total_ns for worker in times) / count,
        startup_ns=max(worker.startup.total_ns for worker in times),
        head_of_line_ns=int(head_of_line.sum()) if len(head_of_line) else None,
        wait_ns=only.waits.total_ns if only else whole if waited.any() else None,
        ready_wait_share=ready / whole if whole else None,
        most_skewed=skewed.process.worker,
        skew=skewed.skew,
    )


def _of_loader(batches: BatchTimes, number: int, column: Int64Array) -> Int64Array:
    rows: Int64Array = column[batches.table.loader == number]
    return rows


def _most_skewed(times: list[WorkerTimes]) -> WorkerTimes:
    return times[int(np.argmax([worker.skew or 0.0 for worker in times]))]
