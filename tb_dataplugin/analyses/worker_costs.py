"""What building batches cost the DataLoader workers: running, waiting for a CPU, or blocked.

The build time of a batch is CPU time of the worker's main thread, plus time in which that thread waited for a CPU
(`run_delay`, from the kernel's schedstat), plus time in which it was blocked (`words.BLOCKED_BY`).
More CPU time in the process than in its main thread is that of threads which libraries started, and of the one that
sends the batches. That is recorded of some batches only, those of which no other says much: right after a worker's
start no batch is being sent, and one that finds a CPU free runs all of its build time. So it is a multiple of what the
main thread used for the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.worker_collections import LongCollections, find_long_collections, long_collections
from tb_dataplugin.analyses.worker_reads import find_worker_reads
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.thread_samples import SampledThread
from tb_dataplugin.model.trace import BatchCosts, BatchTable, Trace

NO_CPU: Final = 0.15
"""Share of the build time in which a worker waited for a CPU, from which no CPU is free; below a third of it, some
are."""

HIDDEN_THREADS: Final = 1.25
"""CPU time of a worker process over that of its main thread, from which libraries run threads of their own: allocators
and the queue's feeder thread stay below a tenth."""


@dataclass(frozen=True, slots=True)
class WorkerCosts:
    """Of batches that were begun and finished in the window. None: not recorded.

    `wall_ns` is from start to finish, summed. Shares are of that time: `cpu` of the main thread, `process_cpu` of all
    threads (may exceed 1; by those batches for which it was recorded), `run_delay` waiting for a CPU, `gc` in Python's
    garbage collector, `sending` the most that torch's own threads may have used, meanwhile, to send other batches (as
    long as they did while those batches were built), and the main thread between stages. `read_chars` are bytes that
    reads returned, `read_bytes` the part
    that came from storage. Switches and faults are counts. `system` of the main thread in the kernel, and
    `minor_faults` (page faults that memory alone answered, all batches' by the mean), are of batches after the first of
    each worker: that one finds all memory of the training process shared, and copies what it touches. So does a long
    collection of garbage: batches with one (`long_gc`) are left out as well.
    `faults_gc` is the collector by the batches whose page faults were measured.
    """

    batches: int
    wall_ns: int
    cpu: float | None
    process_cpu: float | None
    run_delay: float | None
    voluntary: int | None
    involuntary: int | None
    read_chars: int | None
    read_bytes: int | None
    major_faults: int | None
    gc: float | None
    gc_batches: int = 0
    """By how many of `batches` `gc` is known."""
    sending: float = 0.0
    system: float | None = None
    minor_faults: int | None = None
    faults_gc: float | None = None
    long_gc: LongCollections | None = None

    @property
    def build_ns(self) -> float:
        """Mean build time of a batch."""
        return self.wall_ns / self.batches

    @property
    def build_us(self) -> float:
        return self.build_ns / 1e3

    @property
    def blocked(self) -> float | None:
        """Share in which the main thread neither ran nor waited for a CPU: storage, locks, other processes."""
        if self.cpu is None or self.run_delay is None:
            return None
        return max(0.0, 1.0 - self.cpu - self.run_delay)

    @property
    def threads(self) -> float | None:
        """CPU time of the whole process over that of its main thread, without what sending batches may have taken: 1
        means no hidden threads.
        """
        if self.process_cpu is None or not self.cpu:
            return None
        return max(1.0, (self.process_cpu - self.sending) / self.cpu)

    @property
    def threads_compete(self) -> bool:
        """Libraries run threads of their own beside the main thread, and no CPU is free for them."""
        return (self.threads or 0.0) >= HIDDEN_THREADS and (self.run_delay or 0.0) >= NO_CPU

    @property
    def hidden(self) -> float:
        """Share of the process's CPU time that hidden threads have; 0 where that is not known."""
        if self.threads is None or not self.process_cpu or not self.cpu:
            return 0.0
        return (self.threads - 1.0) * self.cpu / self.process_cpu

    @property
    def cached(self) -> float | None:
        """Share of the bytes read that did not come from storage; None when (next to) nothing was read."""
        if self.read_chars is None or self.read_bytes is None or self.read_chars < 1:
            return None
        return max(0.0, 1.0 - self.read_bytes / self.read_chars)


def find_worker_costs(
    trace: Trace, tree: StageTree, window: Window, apart: npt.NDArray[np.bool_] | None = None
) -> WorkerCosts | Unavailable:
    """`apart`: batches that do not count."""
    pipeline = trace.info.pipeline
    table = pipeline.batches if pipeline else None
    if pipeline is None or table is None:
        return _unavailable("The trace has no records of DataLoader workers")
    rows = known(table.started_ns) & known(table.finished_ns)
    rows &= (table.started_ns >= window.start_ns) & (table.finished_ns <= window.end_ns)
    rows &= True if apart is None else ~apart
    wall = int((table.finished_ns - table.started_ns)[rows].sum())
    if not wall:
        return _unavailable("No batch was begun and finished within the window")
    costs = pipeline.batch_costs
    length = (table.finished_ns - table.started_ns)[rows]
    own_ns, in_stages = _main_thread_ns(trace, tree, table, rows)
    cpu = None if own_ns is None or not own_ns.any() else min(1.0, float(own_ns.sum() / wall))
    process_cpu, sending = _process_share(table, rows, costs, own_ns, cpu, in_stages)
    run_delay = _run_delay(trace, table, rows, costs)
    later = rows & ~_first_of_each(table)
    returned, stored = find_worker_reads(trace, tree, table, rows, costs) if costs else (None, None)
    return WorkerCosts(
        batches=int(rows.sum()),
        wall_ns=wall,
        cpu=cpu,
        process_cpu=process_cpu,
        # CPU time is of every batch, waiting for a CPU of samples: together they cannot be more than all.
        run_delay=None if run_delay is None else min(run_delay, 1.0 - (cpu or 0.0)),
        voluntary=_sum(costs.voluntary[rows]) if costs else None,
        involuntary=_sum(costs.involuntary[rows]) if costs else None,
        read_chars=returned,
        read_bytes=stored,
        major_faults=_sum(costs.major_faults[rows]) if costs else None,
        gc=_share(costs.gc_ns[rows], length) if costs else None,
        gc_batches=int((costs.gc_ns[rows] >= 0).sum()) if costs else 0,
        sending=sending,
        long_gc=find_long_collections(table, costs, rows, later) if costs else None,
        **_faults(table, costs, rows, later) if costs else {},
    )


def _faults(
    table: BatchTable, costs: BatchCosts, rows: npt.NDArray[np.bool_], later: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Fields of `WorkerCosts` about page faults, by batches without long collections, which copy pages as well."""
    length, quiet = table.finished_ns - table.started_ns, later & (long_collections(table, costs) == 0)
    measured = quiet & (costs.minor_faults >= 0)
    if not measured.any():
        return {}
    # Of the time of all batches, where each has as much of it as these: collections make the others longer.
    part = float(length[quiet].mean() / length[rows].mean())
    in_kernel = _share(costs.system_cpu_ns[quiet], length[quiet])
    collecting = _share(costs.gc_ns[measured], length[measured])
    return {
        "system": None if in_kernel is None else in_kernel * part,
        "minor_faults": _sum(costs.minor_faults[quiet], int(rows.sum())),
        "faults_gc": None if collecting is None else collecting * part,
    }


def _first_of_each(table: BatchTable) -> npt.NDArray[np.bool_]:
    """The batch that each worker process began first."""
    first = np.zeros(len(table), dtype=np.bool_)
    begun = np.flatnonzero(known(table.started_ns))
    in_order = begun[np.argsort(table.started_ns[begun], kind="stable")]
    first[in_order[np.unique(table.pid[in_order], return_index=True)[1]]] = True
    return first


def _unavailable(message: str) -> Unavailable:
    return Unavailable("workers", "no_worker_costs", f"{message}, so what building batches cost in CPU time is unknown")


def _main_thread_ns(
    trace: Trace, tree: StageTree, table: BatchTable, rows: npt.NDArray[np.bool_]
) -> tuple[Int64Array | None, Int64Array]:
    """Of the outermost stages of each of those batches, 0 for all others: CPU time, None where it was not recorded, and
    how long they took.
    """
    own, took = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    for track, process in trace.worker_tracks().items():
        mine = np.flatnonzero(rows & (table.pid == process.pid))
        mine = mine[np.argsort(table.started_ns[mine], kind="stable")]
        spans = np.flatnonzero((tree.track == track) & (tree.depth == 0))
        at = np.searchsorted(table.started_ns[mine], tree.start_ns[spans], side="right") - 1
        inside = at >= 0
        inside[inside] = tree.start_ns[spans[inside]] < table.finished_ns[mine[at[inside]]]
        np.add.at(took, mine[at[inside]], (tree.end_ns - tree.start_ns)[spans[inside]])
        cpu = trace.span_facts.cpu_ns[spans[inside]]
        if (cpu < 0).any():
            return None, took
        np.add.at(own, mine[at[inside]], cpu)
    return own, took


def _process_share(
    table: BatchTable,
    rows: npt.NDArray[np.bool_],
    costs: BatchCosts | None,
    own_ns: Int64Array | None,
    cpu: float | None,
    in_stages: Int64Array,
) -> tuple[float | None, float]:
    """Of all threads, and of it the most that no library's thread used: what they used for the batches for which that
    was recorded, over what the main thread (`own_ns`, of all batches `cpu`) used for these same ones, in stages.
    Between these it runs as well (torch's loop over the samples, our markers), and torch's own threads send batches.
    """
    if costs is None:
        return None, 0.0
    measured = rows & (costs.process_cpu_ns >= 0)
    own = 0 if own_ns is None else int(own_ns[measured].sum())
    if not cpu or not own:
        length = table.finished_ns - table.started_ns
        return _share(costs.process_cpu_ns[rows], length[rows]), 0.0
    used = int(costs.process_cpu_ns[measured].sum())
    between = int(np.maximum(0, (table.finished_ns - table.started_ns) - in_stages)[measured].sum())
    return cpu * max(1.0, used / own), cpu * (between + _sending_ns(table, measured)) / own


def _sending_ns(table: BatchTable, measured: npt.NDArray[np.bool_]) -> int:
    """How long other batches of the same processes were being sent while these were built: one of torch's threads
    serialises, and another hands over the memory of each tensor while the training process deserialises.
    """
    total = 0
    for begin, end in ((table.finished_ns, table.serialised_ns), (table.deserialise_ns, table.arrived_ns)):
        sent = known(begin) & known(end) & (end > begin)
        for pid in np.unique(table.pid[measured]):
            here, these = sent & (table.pid == pid), measured & (table.pid == pid)
            sends = Intervals.union(begin[here], end[here])
            total += int(sends.overlap(table.started_ns[these], table.finished_ns[these]).sum())
    return total


def _run_delay(
    trace: Trace, table: BatchTable, rows: np.ndarray[tuple[int], np.dtype[np.bool_]], costs: BatchCosts | None
) -> float | None:
    """Of the samples of worker threads, which are of all batches; else of the few batches that were measured."""
    pipeline = trace.info.pipeline
    samples = pipeline.thread_samples if pipeline else None
    waited = built = 0
    for thread in samples.threads if samples else ():
        mine = rows & (table.pid == thread.pid)
        if thread.is_training or not mine.any() or not thread.cpu_ns.any():  # no CPU time: a kernel that does not count
            continue
        more_waited, more_built = _sampled_delay(
            thread, Intervals.union(table.started_ns[mine], table.finished_ns[mine])
        )
        waited, built = waited + more_waited, built + more_built
    if built:
        return min(1.0, waited / built)
    return _share(costs.run_delay_ns[rows], (table.finished_ns - table.started_ns)[rows]) if costs else None


def _sampled_delay(thread: SampledThread, building: Intervals) -> tuple[int, int]:
    """From its first to its last sample, how long the thread waited for a CPU to build, and built: of what it waited
    between two samples as much as it built of that time.
    """
    before, after = thread.time_ns[:-1], thread.time_ns[1:]
    built = building.overlap(before, after)
    waited = thread.delay_ns[1:] * (built / np.maximum(1, after - before))
    return round(float(waited.sum())), int(built.sum())


def _share(values: Int64Array, wall: Int64Array) -> float | None:
    """Of the batches for which it was recorded."""
    measured = values >= 0
    return float(values[measured].sum() / wall[measured].sum()) if measured.any() and wall[measured].sum() else None


def _sum(values: Int64Array, batches: int | None = None) -> int | None:
    """Of all batches, from those for which it was recorded. `batches`: how many, where `values` are of some only."""
    measured = values >= 0
    count = len(values) if batches is None else batches
    return round(values[measured].mean() * count) if measured.any() else None
