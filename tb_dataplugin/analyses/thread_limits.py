"""What limits the training thread, and the DataLoader workers that it waits for: Python's lock (the GIL), the garbage
collector, missing CPUs, or whatever blocks a thread.

A part of the time (a cause of idle time, the data wait) is divided by the samples that fall into it: a share of them is
a share of its time. The collector alone is measured. The limits are disjoint, in the order above, and what is left of
a part ran on a CPU. Where the training thread waits for a batch that is not built yet and is blocked, the limits are
those of the DataLoader worker that builds it. What the training thread does in its data wait itself (drawing indices,
deserialising) is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_WAITS_FOR_LOCK
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.collector import arriving_batches, missing_batches
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.sampled_cpu import LEAST_SAMPLES
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window
from tb_dataplugin.model.thread_samples import SampledThread, ThreadSamples
from tb_dataplugin.model.trace import Trace

LIMITED: Final[tuple[Cause, ...]] = ("host", "launch", "data_wait")
"""Causes of idle time that are divided: in all others the host waits for the device, or for other ranks."""

_95: Final = 1.96

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """What one side did in its part of the time: disjoint, and all of it. `samples` are those of its threads.

    `gil_ns` is None where waiting for the lock cannot be told from being blocked.
    """

    gil_ns: int | None
    gc_ns: int
    no_cpu_ns: int
    blocked_ns: int
    running_ns: int
    samples: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Parts of `whole_ns`.

    `awaited_ns`: the training thread was blocked, and a DataLoader worker had not finished its batch. `training` is of
    the rest of the time, and `workers` of this one; None where there is none, or where they were not sampled.
    `arriving_ns`: the part of `training.blocked_ns` in which its batch was finished, and on its way.
    `gil_error_ns`: half of the 95% interval of `gil_ns`.
    """

    whole_ns: int
    training: Side
    gil_error_ns: int
    awaited_ns: int = 0
    workers: Side | None = None
    arriving_ns: int = 0

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.training,) if self.workers is None else (self.training, self.workers)

    @property
    def gil_ns(self) -> int | None:
        """None: not known, as of the others."""
        known_times = [side.gil_ns for side in self.sides if side.gil_ns is not None]
        return sum(known_times) if len(known_times) == len(self.sides) else None

    @property
    def gc_ns(self) -> int:
        return sum(side.gc_ns for side in self.sides)

    @property
    def no_cpu_ns(self) -> int:
        return sum(side.no_cpu_ns for side in self.sides)

    @property
    def blocked_ns(self) -> int | None:
        if self.awaited_ns and self.workers is None:
            return None
        return sum(side.blocked_ns for side in self.sides)

    @property
    def in_workers_ns(self) -> int:
        """The part of `gil_ns` in which a DataLoader worker waited for the lock of its own process."""
        return 0 if self.workers is None else self.workers.gil_ns or 0


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
    awaited: float = 0.0
    """The part of `blocked` in which a batch was being built."""
    arriving: float = 0.0
    """The part of `blocked` in which a finished batch was on its way."""


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
        side = _side(part.total_ns, shares, self.collections.intersect(part).total_ns)
        return Limits(part.total_ns, side, _gil_error(part, shares, shares.gil))

    def waiting(self, part: Intervals) -> Limits | None:
        """Of a part in which the training thread waits for data."""
        built = self._built_meanwhile(part)
        arriving = EMPTY if self.workers is None else arriving_batches(self.workers.batches)
        shares = _shares_in(self.training, part, EMPTY, built, arriving)
        if shares is None:
            return None
        whole, awaited = part.total_ns, round(shares.awaited * part.total_ns)
        # While DataLoader workers still build the batch, a collection here holds up nothing.
        gc = self.collections.intersect(part).minus(self._missing).total_ns
        side = _side(whole, replace(shares, blocked=shares.blocked - shares.awaited), gc, whole - awaited)
        on_way = min(side.blocked_ns, round(shares.arriving * whole))
        theirs = self._of_workers(built) if awaited else None
        if theirs is None:  # what those wait for that it waits for is not known
            return Limits(whole, side, _gil_error(part, shares, shares.gil), awaited, arriving_ns=on_way)
        collecting = self.costs.gc if self.costs is not None and self.costs.gc is not None else 0.0
        workers = _side(awaited, theirs, round(min(collecting, theirs.running) * awaited))
        error = _gil_error(part, shares, shares.gil + shares.awaited * theirs.gil)
        return Limits(whole, side, error, awaited, workers, on_way)

    @property
    def _missing(self) -> Intervals:
        return EMPTY if self.workers is None else missing_batches(self.workers.batches)

    def _built_meanwhile(self, part: Intervals) -> Intervals:
        """When DataLoader workers still built the batch that the part waits for; all of it where that is not known."""
        if self.workers is not None:
            return part.intersect(self._missing)
        return part if any(not thread.is_training for thread in self.samples.threads) else EMPTY

    def _of_workers(self, part: Intervals) -> _Shares | None:
        return None if self.workers is None else _shares_of_workers(self.samples, self.workers, part)


def _side(whole_ns: int, shares: _Shares, gc_ns: int, most_ns: int | None = None) -> Side:
    """Shares are of the whole, of which the side has `most_ns`. Each takes what those before it leave of that."""
    left = whole_ns if most_ns is None else most_ns
    times: list[int] = []
    for time in (
        round(shares.gil * whole_ns),
        gc_ns,
        round(shares.no_cpu * whole_ns),
        round(shares.blocked * whole_ns),
    ):
        times.append(min(time, left))
        left -= times[-1]
    gil, gc, no_cpu, blocked = times
    return Side(gil if shares.lock_known else None, gc, no_cpu, blocked, left, shares.samples)


def _gil_error(part: Intervals, shares: _Shares, gil: float) -> int:
    error = _95 * sqrt(gil * (1 - gil) / max(1.0, shares.effective))
    return round(error * part.total_ns)


def _shares_in(
    thread: SampledThread, part: Intervals, beside: Intervals, awaited: Intervals = EMPTY, arriving: Intervals = EMPTY
) -> _Shares | None:
    """`beside`: when a blocked thread waits for work that is done, in another thread of its process."""
    inside = part.contains(thread.time_ns)
    weight = np.where(inside, thread.weight_ns, 0).astype(np.float64)
    return _shares(thread, weight, beside, awaited, arriving)


def _shares(
    thread: SampledThread, weight: Floats, beside: Intervals, awaited: Intervals = EMPTY, arriving: Intervals = EMPTY
) -> _Shares | None:
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
        awaited=float(weight[blocked & awaited.contains(thread.time_ns)].sum()) / total,
        arriving=float(weight[blocked & arriving.contains(thread.time_ns)].sum()) / total,
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
