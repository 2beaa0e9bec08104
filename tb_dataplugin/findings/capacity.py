"""Whether the CPUs that DataLoader workers may use are all busy, or the storage that they read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.findings.evidence import Evidence, number, share
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import CPU_FREE, CPU_SATURATED, DISK_SATURATED, MOSTLY_BLOCKED, NO_CPU
from tb_dataplugin.units import percent, plural, significant

MOST_BLOCKED: Final = 0.9
"""So much of the build time is taken to need no CPU, at most: ten workers to a CPU."""

Vote = tuple[bool | None, Evidence]


@dataclass(frozen=True, slots=True)
class Capacity:
    """`saturated` is None when the capture cannot decide it; `evidence` is what decided it."""

    saturated: bool | None
    evidence: tuple[Evidence, ...]


def judge_cpus(signals: Signals) -> Capacity:
    """By the load of the CPUs; without it by how long workers waited for one; without that by their own CPU time. Who
    is blocked most of the time has CPUs enough, whatever other programs use. CPUs that are free on average, but not
    when a worker wants one, decide nothing; nor do those that recording itself had.
    """
    blocked = by_blocking(signals)
    if blocked is not None:
        return Capacity(False, (blocked,))
    load = _by_load(signals)
    delay = None if signals.recording_crowds else _by_run_delay(signals)
    votes = [vote for vote in (load, delay, _by_demand(signals)) if vote is not None]
    answers = [saturated for saturated, _ in votes if saturated is not None]
    if load is not None and load[0] is False and True in answers:
        return Capacity(None, tuple(fact for _, fact in votes))
    saturated = True if any(answers) else answers[0] if answers else None
    return Capacity(saturated, tuple(fact for vote, fact in votes if saturated is None or vote == saturated))


def held_by_others(signals: Signals) -> OtherPrograms | None:
    """Other programs, where the CPUs would not be full without them: a further process gets a share of its own then,
    which they lose. None where this program fills the CPUs by itself, or who has them is not known.
    """
    found = signals.other_programs
    cpus = 0.0 if found is None else signals.cpus or found.cores
    if found is None or found.unsure or found.others < (1 - CPU_SATURATED) * cpus:
        return None
    return found if found.own < CPU_SATURATED * cpus else None


def held_by_children(signals: Signals) -> OtherPrograms | None:
    """The program's own child processes, other than DataLoader workers with records, where the CPUs would not be full
    without them: a further DataLoader worker gets a share of its own then, which they lose.
    """
    found = signals.other_programs
    if found is None or not found.own_crowd or found.children is None:
        return None
    return found if found.own - found.children < CPU_SATURATED * (signals.cpus or found.cores) else None


def reads_from_storage(signals: Signals) -> bool:
    """Building batches is mostly blocked, and most of what is read comes from storage."""
    costs = signals.costs
    if costs is None or costs.blocked is None or costs.cached is None:
        return False
    return costs.blocked >= MOSTLY_BLOCKED and costs.cached < 1 - MOSTLY_BLOCKED


def judge_storage(signals: Signals) -> Capacity:
    """By how busy the busiest disk is; a network file system has none here, and remains unknown."""
    load = signals.load
    if load is None or load.disk_busy is None:
        return Capacity(None, ())
    text = f"the disk {load.disk} is {percent(load.disk_busy)} busy"
    return Capacity(load.disk_busy >= DISK_SATURATED, (share("disk_busy", load.disk_busy, "window", text),))


def full_cpus(signals: Signals) -> Evidence | None:
    """That all CPUs are busy, by their load; None where they are not, or it is not known."""
    load = _by_load(signals)
    return load[1] if load is not None and load[0] else None


def share_what_is_full(signals: Signals) -> bool:
    """Whether more DataLoader workers would only share the CPUs, or the storage, that they have."""
    if judge_cpus(signals).saturated:
        return True
    return reads_from_storage(signals) and bool(judge_storage(signals).saturated)


def by_blocking(signals: Signals) -> Evidence | None:
    costs = signals.costs
    if costs is None or costs.blocked is None or costs.blocked < MOSTLY_BLOCKED or (costs.run_delay or 0.0) >= NO_CPU:
        return None
    text = f"DataLoader workers are blocked for {percent(costs.blocked)} of the build time, and use no CPU meanwhile"
    return share("blocked", costs.blocked, "build time", text)


def _by_load(signals: Signals) -> Vote | None:
    load = signals.load
    if load is None or load.cpu_busy is None:
        return None
    text = f"the {plural(load.cores, 'CPU')} are {percent(load.cpu_busy)} busy"
    recorder = signals.recorder
    if recorder is not None and recorder.crowds:
        text = f"{text}, {percent(recorder.share)} with recording"
        is_full = load.cpu_busy - recorder.share >= CPU_SATURATED
        return True if is_full else None, share("cpu_busy", load.cpu_busy, "window", text)
    return _between(load.cpu_busy, CPU_FREE, CPU_SATURATED), share("cpu_busy", load.cpu_busy, "window", text)


def _by_run_delay(signals: Signals) -> Vote | None:
    delay = signals.costs.run_delay if signals.costs else None
    if delay is None:
        return None
    batches = f" of {plural(signals.costs.batches, 'batch')}" if signals.costs else ""
    text = f"DataLoader workers waited for a CPU for {percent(delay)} of the build time{batches} (measured)"
    return _between(delay, NO_CPU / 3, NO_CPU), share("run_delay", delay, "build time", text)


def _by_demand(signals: Signals) -> Vote | None:
    """CPU time of all workers against the CPUs. Others may use CPUs too, so it never shows that any is free."""
    costs, workers, cpus = signals.costs, signals.workers, signals.cpus
    if costs is None or workers is None or cpus is None:
        return None
    used = costs.process_cpu if costs.process_cpu is not None else costs.cpu
    if used is None:
        return None
    demand = used * workers.busy * workers.alive
    text = f"the DataLoader workers use {significant(demand)} of {cpus:g} CPUs"
    return True if demand >= CPU_SATURATED * cpus else None, number("cpu_demand", demand, "cores", text)


def _between(value: float, free: float, taken: float) -> bool | None:
    return True if value >= taken else False if value < free else None
