"""What it costs the training step that others run on the CPUs which it could use: DataLoader workers, other programs.

A step that is computed by several threads goes on when the last of them is done. So it stands still while any of them
waits for a CPU, and the kernel tells of one of them: the training thread. With `threads` that each wait for a share d
of the time, at most 1 - (1 - d) ^ threads of it is lost (were their waits independent), and at least d.

Where other programs compete, the capture does not show who gets what the workers leave. A scheduler that knows threads
alone gives the others their part. One that gives each session or container a share of its own (autogroups, cgroups)
gives it to the same program's threads: then workers can be what all of the waiting comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampled_cpu import sampled_cpu_ns
from tb_dataplugin.analyses.wait_parts import OTHER_LOADER, UNRECORDED
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.model.intervals import EMPTY
from tb_dataplugin.model.trace import ThreadCosts

HOSTS: Final[tuple[Cause, ...]] = ("host", "launch")
"""Causes of a device's idle time in which the training thread is to blame."""

ALL_THEIRS: Final = 0.9
"""Share of the CPU time of all others from which DataLoader workers have all: counters do not agree to a tenth."""

MOST: Final = 0.99
"""Share of the time that a thread is said to wait for a CPU, at most: the rest of it must have some."""


@dataclass(frozen=True, slots=True)
class TakenCpus:
    """Outside of the data wait, with a device while that idles for the host.

    own_ns      that time
    delayed     share of it in which the training thread waited for a CPU
    threads     that compute a step: CPU time of the training process over that of its training thread
    workers_ns  CPU time of DataLoader workers in the window
    by_workers  share of the CPU time of all others that they have; nobody waits longer for their CPUs than they ran
    of_all      `delayed` is of all recorded steps, where only some were chosen: the kernel's counters know no steps
    at_most     as `by_workers`, were what they leave not shared with other programs
    others_ns   CPU time of other programs, where they compete: else 0, and `at_most` is no more than `by_workers`
    children_ns CPU time of the program's other child processes, where it is known; none of `others_ns`
    """

    own_ns: float
    delayed: float
    threads: float
    workers_ns: float
    by_workers: float
    of_all: bool = False
    at_most: float = 0.0
    others_ns: float = 0.0
    children_ns: float = 0.0

    @property
    def own_us(self) -> float:
        return self.own_ns / 1e3

    @property
    def workers_us(self) -> float:
        return self.workers_ns / 1e3

    @property
    def others_compete(self) -> bool:
        return self.others_ns > 0

    @property
    def delayed_by_workers(self) -> float:
        """Of `delayed`, the part that is theirs."""
        return self.delayed * self.by_workers

    @property
    def may_be_by_workers(self) -> float:
        """The same, did other programs get nothing of what they leave: then the step gets no more than that."""
        ran = min(self.at_most, self.workers_ns / (self.delayed * self.own_ns)) if self.delayed else 0.0
        return self.delayed * max(self.by_workers, ran)

    def saved_us(self, part: float) -> float:
        """Of `own_us`, at most, were that part of the CPU time of DataLoader workers not used."""
        return self._without_us(min(1.0, part) * max(self.by_workers, self.at_most))

    @property
    def shared_us(self) -> float:
        """The same for all of it, where other programs take their part of what is set free."""
        return self._without_us(self.by_workers)

    def _without_us(self, part: float) -> float:
        """Without that part of `delayed`."""
        left = self.delayed * (1 - part)
        return float(self.own_us * (1 - ((1 - self.delayed) / (1 - left)) ** self.threads))

    def returned_us(self, used_us: float) -> float:
        """The same for so much of their CPU time: by no more than that, unless other programs compete, which have less
        time for their own work in a shorter step.
        """
        saved_us = self.saved_us(used_us / self.workers_us)
        return saved_us if self.others_compete else min(saved_us, used_us * self.by_workers)


def find_taken_cpus(results: Results) -> TakenCpus | None:
    """None without DataLoader workers, or where how the training thread got its CPUs was not recorded."""
    thread, used = training_costs(results), _used(results.worker_costs)
    if thread is None or results.workers is None or results.loader is None or used is None:
        return None
    own_ns, delayed_ns = _delayed(results, thread, results.loader)
    if own_ns <= 0:
        return None
    building_ns = float(sum(row.busy_ns for row in results.workers.rows))
    workers_ns = used * building_ns
    beside_ns = _beside_ns(results, workers_ns, thread)
    by_workers = _by_workers(workers_ns, beside_ns, delayed_ns)
    children_ns = min(beside_ns, max(0.0, (thread.children_ns or 0) - workers_ns))
    others_ns = beside_ns - children_ns
    others_ns = others_ns if workers_ns < ALL_THEIRS * (workers_ns + others_ns) else 0.0
    delay = results.worker_costs.run_delay if results.worker_costs else None
    wanted_ns = building_ns * (1.0 if delay is None else used + delay)
    return TakenCpus(
        own_ns=own_ns,
        delayed=min(MOST, delayed_ns / own_ns),
        threads=1.0 if results.devices else step_threads(results),
        workers_ns=workers_ns,
        by_workers=by_workers,
        of_all=results.selection is not None and not results.devices and not _is_sampled(results),
        at_most=_at_most(min(wanted_ns, workers_ns + others_ns), delayed_ns) if others_ns else by_workers,
        others_ns=others_ns,
        children_ns=children_ns,
    )


def building_cpus(results: Results) -> float | None:
    """CPUs that DataLoader workers kept busy in the window, on average; 0 without any, None where that is not known."""
    if results.settings is not None and not results.settings.num_workers and results.workers is None:
        return 0.0
    used = _used(results.worker_costs)
    if used is None or results.workers is None or not results.window.duration_ns:
        return None
    return used * sum(row.busy_ns for row in results.workers.rows) / results.window.duration_ns


def passing_cpus(results: Results) -> float:
    """CPUs of the program's own child processes that came or went in the window, on average; without DataLoader workers
    that are recorded. Not there while the loop goes on: an evaluation's DataLoader that nobody annotated, a program
    that was called. Where it was not recorded, one CPU while the loop waits for a batch of which nothing is known.
    """
    costs, window = training_costs(results), results.window
    if not window.duration_ns:
        return 0.0
    if costs is None or costs.passing_children_ns is None:
        by_stage = results.attribution.by_stage
        unknown = (by_stage.get(name, EMPTY).total_ns for name in (UNRECORDED, OTHER_LOADER))
        return sum(unknown) / window.duration_ns
    times = results.workers.times if results.workers else ()
    passing_ns = sum(each.busy.total_ns for each in times if each.alive.total_ns < window.duration_ns)
    recorded = (_used(results.worker_costs) or 0.0) * passing_ns
    return max(0.0, costs.passing_children_ns - recorded) / window.duration_ns


def beside_training_thread(results: Results) -> float | None:
    """CPUs that other threads of the training process had, as libraries start them; None where not recorded."""
    thread = training_costs(results)
    if thread is None or thread.process_cpu_ns is None or results.window.duration_ns <= 0:
        return None
    return max(0.0, thread.process_cpu_ns - thread.cpu_ns) / results.window.duration_ns


def training_costs(results: Results) -> ThreadCosts | None:
    """What the training thread spent in the window; in proportion, where that is some steps of what was recorded."""
    pipeline = results.trace.info.pipeline
    thread = pipeline.training_thread if pipeline else None
    if thread is None or results.selection is None:
        return thread
    part = results.window.duration_ns / results.selection.whole.duration_ns
    process, passing, lasting = (
        None if time is None else round(time * part)
        for time in (thread.process_cpu_ns, thread.passing_children_ns, thread.lasting_children_ns)
    )
    return replace(
        thread,
        cpu_ns=round(thread.cpu_ns * part),
        run_delay_ns=round(thread.run_delay_ns * part),
        process_cpu_ns=process,
        passing_children_ns=passing,
        lasting_children_ns=lasting,
    )


def step_threads(results: Results) -> float:
    """Threads that compute a step at once, on average; 1 where that was not recorded."""
    pipeline = results.trace.info.pipeline
    thread = pipeline.training_thread if pipeline else None
    most = max(1.0, float((pipeline.host.torch_threads if pipeline else None) or 1))
    if thread is None or thread.process_cpu_ns is None or not thread.cpu_ns:
        return 1.0
    return min(most, max(1.0, thread.process_cpu_ns / thread.cpu_ns))


def _used(costs: WorkerCosts | None) -> float | None:
    """CPUs that building a batch keeps busy."""
    if costs is None:
        return None
    return costs.process_cpu if costs.process_cpu is not None else costs.cpu


def _delayed(results: Results, thread: ThreadCosts, loader: LoaderWait) -> tuple[float, float]:
    """The step's own time, and how much of it the training thread waited for a CPU."""
    if not results.devices:
        own = float(results.window.duration_ns - loader.waits.total_ns)
        return own, own * delayed_share(results, thread)
    limits = results.limits.devices[0] if results.limits and results.limits.devices else {}
    parts = [limits[cause] for cause in HOSTS if cause in limits]
    return float(sum(part.whole_ns for part in parts)), float(sum(part.no_cpu_ns or 0 for part in parts))


def delayed_share(results: Results, thread: ThreadCosts) -> float:
    """In which the training thread waited for a CPU, of the time outside the data wait. The kernel's counters are of
    the whole window, so without samples what falls outside is as much as of its CPU time does, and no more than that
    CPU time leaves there. Where that is not known either, the share is that of all time in which the thread had
    something to do; a thread that sleeps outside of the data wait did not wait for a CPU for longer than in the window.
    """
    outside = results.limits.outside if results.limits else None
    if outside is not None and outside.no_cpu_ns is not None and _is_sampled(results):
        return outside.no_cpu_ns / outside.whole_ns
    outside_ns = results.window.duration_ns - (results.loader.waits.total_ns if results.loader else 0)
    waiting = waits_cpu_ns(results)
    if waiting is not None and thread.cpu_ns and outside_ns > 0:
        own_ns = max(0.0, thread.cpu_ns - waiting)
        left = max(0.0, 1 - own_ns / outside_ns)  # while it ran, it waited for none
        return min(left, own_ns / thread.cpu_ns * thread.run_delay_ns / outside_ns)
    wanted = max(thread.cpu_ns + thread.run_delay_ns, outside_ns)
    return thread.run_delay_ns / wanted if wanted else 0.0


def waits_cpu_ns(results: Results) -> float | None:
    """CPU time of the training thread in the data wait: as recorded, else by samples. None where neither says."""
    if results.loader is None:
        return None
    tree, cpu = results.tree, results.trace.span_facts.cpu_ns
    is_wait = [path[-1].kind == "wait" and all(stage.kind != "wait" for stage in path[:-1]) for path in tree.paths]
    mine = np.array(is_wait, dtype=np.bool_)[tree.node] & (tree.track == results.trace.training_track)
    rows = np.flatnonzero(mine & results.loader.waits.contains(tree.start_ns))
    if not len(rows):
        return None
    return float(cpu[rows].sum()) if (cpu[rows] >= 0).all() else sampled_cpu_ns(results.trace, results.loader.waits)


def _is_sampled(results: Results) -> bool:
    outside = results.limits.outside if results.limits else None
    return outside is not None and outside.no_cpu_ns is not None and outside.whole_ns > 0


def _beside_ns(results: Results, workers_ns: float, thread: ThreadCosts) -> float:
    """CPU time of all but the training process and DataLoader workers; 0 where the machine's load is not known."""
    load = results.load
    if load is None or load.cpu_busy is None:
        return 0.0
    mine = max(thread.cpu_ns, thread.process_cpu_ns or 0)
    return max(0.0, load.cpu_busy * load.cores * results.window.duration_ns - mine - workers_ns)


def _by_workers(workers_ns: float, others_ns: float, delayed_ns: float) -> float:
    """As far as they ran at all."""
    part = workers_ns / (workers_ns + others_ns) if others_ns else 1.0
    return min(part, _at_most(workers_ns, delayed_ns))


def _at_most(ns: float, delayed_ns: float) -> float:
    """Of the time in which the step waits, what others can have to do with it that ran, or wanted to, for `ns`."""
    return min(1.0, ns / delayed_ns) if delayed_ns > 0 else 1.0
