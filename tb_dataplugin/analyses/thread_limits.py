"""What limits the training thread, and the DataLoader workers that it waits for: Python's lock (the GIL), the garbage
collector, missing CPUs, or whatever blocks a thread.

A part of the time (a cause of idle time, the data wait) is divided by the samples that fall into it: a share of them is
a share of its time. The collector alone is measured. The limits are disjoint, in the order above, and what is left of
a part ran on a CPU. Where the training thread waits for data and is blocked, the limits are those of the DataLoader
worker while it built the batch that this wait received.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_WAITS_FOR_LOCK
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.collector import missing_batches
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window
from tb_dataplugin.model.thread_samples import SampledThread, ThreadSamples
from tb_dataplugin.model.trace import Trace

LEAST_SAMPLES: Final = 10
"""In a part; with fewer, a share of a half has a 95% interval of more than a third to either side."""

LIMITED: Final[tuple[Cause, ...]] = ("host", "launch", "data_wait")
"""Causes of idle time that are divided: in all others the host waits for the device, or for other ranks."""

_95: Final = 1.96

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Limits:
    """Parts of `whole_ns`, disjoint; what is left ran on a CPU. None: not known.

    `gil_error_ns`: half of the 95% interval of `gil_ns`. `samples` are those that it is estimated from.
    `in_workers_ns`: the part of `gil_ns` in which a DataLoader worker waited for the lock of its own process;
    `gc_in_workers_ns` that of `gc_ns` in which one collected.
    `with_workers`: while the training thread waits, what counts is what the DataLoader workers did.
    """

    whole_ns: int
    gil_ns: int | None
    gc_ns: int | None
    no_cpu_ns: int | None
    blocked_ns: int | None
    gil_error_ns: int
    samples: int
    in_workers_ns: int = 0
    with_workers: bool = False
    gc_in_workers_ns: int = 0

    @property
    def gil_in_training_ns(self) -> int | None:
        return None if self.gil_ns is None else max(0, self.gil_ns - self.in_workers_ns)

    @property
    def gc_in_training_ns(self) -> int | None:
        return None if self.gc_ns is None else self.gc_ns - self.gc_in_workers_ns


@dataclass(frozen=True, slots=True)
class ThreadLimits:
    """`devices`: by cause, per device. `data_wait`: of the loader's data wait. `outside`: of the rest of the window,
    or of all of it where the data wait is not known.

    None, or missing: too few samples fall into that part. `holders_ns`: the training thread's time of waiting for the
    lock by who held it, the longest first; without what is not known.
    """

    devices: tuple[Mapping[Cause, Limits], ...]
    data_wait: Limits | None
    outside: Limits | None
    holders_ns: Mapping[str, int]
    samples: int
    interval_ns: float
    cost_ns: int | None


@dataclass(frozen=True, slots=True)
class _Shares:
    """Of a part's time."""

    gil: float
    running: float
    no_cpu: float
    blocked: float
    samples: int
    effective: float
    """As many independent samples of equal weight would say as much."""
    lock_known: bool
    in_workers: float = 0.0
    """The part of `gil` that DataLoader workers have."""


def find_thread_limits(
    trace: Trace,
    window: Window,
    loader: LoaderWait | None,
    attribution: Attribution,
    workers: Workers | None,
    costs: WorkerCosts | None,
) -> ThreadLimits | Unavailable:
    pipeline = trace.info.pipeline
    samples = pipeline.thread_samples if pipeline else None
    if samples is None or pipeline is None:
        return _unknown("not_recorded", "The trace has no samples of threads")
    training = samples.training
    if samples.why_not or training is None:
        return _unknown("gil_unknown", f"What threads wait for was not recorded: {samples.why_not or 'no samples'}")
    finder = _Finder(training, samples, pipeline.collections or EMPTY, _beside(trace), workers, costs)
    waits = EMPTY if loader is None else loader.waits
    return ThreadLimits(
        devices=tuple(dict(finder.causes(device.causes)) for device in attribution.devices),
        data_wait=finder.waiting(waits),
        outside=finder.own(waits.complement(window)),
        holders_ns=_holders(training, samples, window),
        samples=len(training.time_ns),
        interval_ns=float(np.diff(training.time_ns).mean()) if len(training.time_ns) > 1 else 0.0,
        cost_ns=samples.cost_ns,
    )


def _unknown(code: str, message: str) -> Unavailable:
    return Unavailable("capture", code, f"{message}, so waits for Python's lock (GIL) and for a CPU are unknown")


def _beside(trace: Trace) -> Intervals:
    """When another thread of the training process was in an operator or runtime call: the training thread may wait for
    it then, as it does for a backward pass."""
    if trace.training_track is None:
        return EMPTY
    pid = trace.tracks[trace.training_track].pid
    ours = np.array([track.pid == pid for track in trace.tracks], dtype=np.bool_)
    ours[trace.training_track] = False
    rows = trace.events.is_category(Category.CPU_OP, Category.RUNTIME) & ours[trace.events.track]
    return Intervals.union(trace.events.start_ns[rows], trace.events.end_ns[rows])


def _holders(training: SampledThread, samples: ThreadSamples, window: Window) -> dict[str, int]:
    inside = (training.time_ns >= window.start_ns) & (training.time_ns < window.end_ns)
    times = {
        name: int(training.weight_ns[inside & (training.state == THREAD_WAITS_FOR_LOCK + 1 + number)].sum())
        for number, name in enumerate(samples.holders)
    }
    return dict(sorted(((name, time) for name, time in times.items() if time), key=lambda held: -held[1]))


@dataclass(frozen=True, slots=True)
class _Finder:
    training: SampledThread
    samples: ThreadSamples
    collections: Intervals
    beside: Intervals
    workers: Workers | None
    costs: WorkerCosts | None

    def causes(self, causes: Mapping[Cause, Intervals]) -> Iterator[tuple[Cause, Limits]]:
        for cause in LIMITED:
            part = causes.get(cause, EMPTY)
            limits = self.waiting(part) if cause == "data_wait" else self.own(part)
            if limits is not None:
                yield cause, limits

    def own(self, part: Intervals) -> Limits | None:
        """Of a part in which the training thread itself is what takes the time."""
        shares = _shares_in(self.training, part, self.beside)
        if shares is None:
            return None
        gc = self.collections.intersect(part).total_ns
        return self._limits(part, shares, gc, shares.no_cpu, shares.blocked)

    def waiting(self, part: Intervals) -> Limits | None:
        """Of a part in which the training thread waits for data."""
        shares = _shares_in(self.training, part, EMPTY)
        if shares is None:
            return None
        gc = self.collections.intersect(part).minus(self._missing).total_ns
        if not self._has_workers:
            return self._limits(part, shares, gc, shares.no_cpu, shares.blocked)
        theirs = None if self.workers is None else _shares_of_workers(self.samples, self.workers, part)
        if theirs is None:  # what those wait for that it waits for is not known
            return self._limits(part, shares, gc, shares.no_cpu, None)
        collecting = self.costs.gc if self.costs is not None and self.costs.gc is not None else 0.0
        both = _Shares(
            gil=shares.gil + shares.blocked * theirs.gil,
            running=shares.running,
            no_cpu=shares.no_cpu + shares.blocked * theirs.no_cpu,
            blocked=shares.blocked * theirs.blocked,
            samples=shares.samples,
            effective=shares.effective,
            lock_known=shares.lock_known and theirs.lock_known,
            in_workers=shares.blocked * theirs.gil,
        )
        theirs_ns = round(shares.blocked * min(collecting, theirs.running) * part.total_ns)
        found = self._limits(part, both, gc + theirs_ns, both.no_cpu, both.blocked)
        in_workers = max(0, (found.gc_ns or 0) - gc)
        return replace(found, with_workers=True, gc_in_workers_ns=in_workers)

    @property
    def _missing(self) -> Intervals:
        """While DataLoader workers still build the batch, a collection here holds up nothing."""
        return EMPTY if self.workers is None else missing_batches(self.workers.batches)

    @property
    def _has_workers(self) -> bool:
        return self.workers is not None or any(not thread.is_training for thread in self.samples.threads)

    def _limits(self, part: Intervals, shares: _Shares, gc_ns: int, no_cpu: float, blocked: float | None) -> Limits:
        """Each is at most what those before it leave of the part."""
        whole = part.total_ns
        gil = round(shares.gil * whole) if shares.lock_known else 0
        gc = min(gc_ns, whole - gil)
        waiting = min(round(no_cpu * whole), whole - gil - gc)
        rest = None if blocked is None else min(round(blocked * whole), whole - gil - gc - waiting)
        error = _95 * (shares.gil * (1 - shares.gil) / max(1.0, shares.effective)) ** 0.5
        return Limits(
            whole_ns=whole,
            gil_ns=gil if shares.lock_known else None,
            gc_ns=gc,
            no_cpu_ns=waiting,
            blocked_ns=rest,
            gil_error_ns=round(error * whole),
            samples=shares.samples,
            in_workers_ns=round(shares.in_workers * whole),
        )


def _shares_in(thread: SampledThread, part: Intervals, beside: Intervals) -> _Shares | None:
    """`beside`: when a blocked thread waits for work that is done, in another thread of its process."""
    inside = part.contains(thread.time_ns)
    return _shares(thread, np.where(inside, thread.weight_ns, 0).astype(np.float64), beside)


def _shares(thread: SampledThread, weight: Floats, beside: Intervals) -> _Shares | None:
    """None where too few samples have any weight."""
    count, total = int((weight > 0).sum()), float(weight.sum())
    if count < LEAST_SAMPLES or not total:
        return None
    blocked = thread.is_blocked & ~beside.contains(thread.time_ns)
    return _Shares(
        gil=float(weight[thread.waits_for_lock].sum()) / total,
        running=float(weight[thread.is_running].sum()) / total,
        no_cpu=float((weight * thread.delayed)[thread.is_running].sum()) / total,
        blocked=float(weight[blocked].sum()) / total,
        samples=count,
        effective=total**2 / float((weight**2).sum()),
        lock_known=thread.lock_known,
    )


def _shares_of_workers(samples: ThreadSamples, workers: Workers, part: Intervals) -> _Shares | None:
    """Of the DataLoader workers while they built the batches that `part` was spent waiting for.

    A sample counts as much as the wait of its batch, per time that building it took.
    """
    table, times = workers.batches.table, workers.batches
    rows = known(times.wait_start_ns) & known(table.started_ns) & known(table.finished_ns)
    rows &= table.finished_ns > table.started_ns
    waited = np.zeros(len(table), dtype=np.int64)
    waited[rows] = part.overlap(times.wait_start_ns[rows], times.wait_end_ns[rows])
    found: list[tuple[float, _Shares]] = []
    for thread in samples.threads:
        mine = rows & (table.pid == thread.pid) & (waited > 0)
        if thread.is_training or not mine.any():
            continue
        weight = _weights(thread, table.started_ns[mine], table.finished_ns[mine], waited[mine])
        shares = _shares(thread, weight, EMPTY)
        if shares is not None:
            found.append((float(waited[mine].sum()), shares))
    total = sum(weight for weight, _ in found)
    if not total:
        return None

    def mean(name: str) -> float:
        return float(sum(weight * getattr(shares, name) for weight, shares in found) / total)

    count, known_lock = sum(shares.samples for _, shares in found), all(shares.lock_known for _, shares in found)
    return _Shares(mean("gil"), mean("running"), mean("no_cpu"), mean("blocked"), count, float(count), known_lock)


def _weights(thread: SampledThread, start: Int64Array, end: Int64Array, waited: Int64Array) -> Floats:
    """Of each sample: the time that it stands for, times the wait for the batch that was built, per build time."""
    first, last = np.searchsorted(thread.time_ns, start), np.searchsorted(thread.time_ns, end)
    steps = np.zeros(len(thread.time_ns) + 1)
    np.add.at(steps, first, waited / (end - start))
    np.add.at(steps, last, -waited / (end - start))
    weight: Floats = np.maximum(0.0, np.cumsum(steps)[:-1]) * thread.weight_ns
    weight[weight < 1e-6 * weight.max(initial=0.0)] = 0.0  # what rounding left of a sum that ended
    return weight
