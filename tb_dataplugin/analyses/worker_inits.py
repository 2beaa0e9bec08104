"""What DataLoader workers are in before they can build anything: the user's ``worker_init_fn``.

A wait for a batch is that function's as long as the worker that the batch came from was in it. What other workers do
meanwhile holds nothing up.
"""

from __future__ import annotations

from collections.abc import Iterable

from tb_dataplugin.analyses.workers import Workers, WorkerTimes
from tb_dataplugin.model.intervals import EMPTY, Intervals


def inits_waited_for(workers: Workers | None) -> Intervals:
    """Data wait of all loaders, before it is known what else it is part of."""
    if workers is None:
        return EMPTY
    return Intervals.union_of(_waited(workers, times) for times in workers.times)


def _waited(workers: Workers, times: WorkerTimes) -> Intervals:
    process, batches = times.process, workers.batches
    mine = (batches.table.pid == process.pid) & (batches.table.loader == process.loader)
    return Intervals.union(batches.wait_start_ns[mine], batches.wait_end_ns[mine]).intersect(init_of(times))


def init_of(times: WorkerTimes) -> Intervals:
    """When this process was in it; empty where it has none, and where that is not known."""
    init = times.process.init_ns
    return EMPTY if init is None else Intervals.union([init.start_ns], [init.end_ns])


def longest_start_ns(times: Iterable[WorkerTimes]) -> tuple[int, int]:
    """Of the process that took longest to start, within the window: how long that was, and what of it was in the
    function.
    """
    longest = max(times, key=lambda each: each.startup.total_ns)
    return longest.startup.total_ns, longest.startup.intersect(init_of(longest)).total_ns
