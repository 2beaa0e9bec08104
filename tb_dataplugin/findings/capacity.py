"""Whether the cores that the workers may use are taken, or the storage that they read from."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import CPU_FREE, CPU_SATURATED, DISK_SATURATED, MOSTLY_WAITING, NO_CORE
from tb_dataplugin.units import percent, significant


@dataclass(frozen=True, slots=True)
class Capacity:
    """`saturated` is None when the trace cannot tell; `evidence` is what it was told by."""

    saturated: bool | None
    evidence: tuple[str, ...]


def find_capacity(signals: Signals) -> Capacity:
    """By the load of the cores; without it by how long workers had no core; without that by their own CPU time."""
    votes = [vote for vote in (_by_load(signals), _by_run_delay(signals), _by_demand(signals)) if vote is not None]
    told = [saturated for saturated, _ in votes if saturated is not None]
    saturated = True if any(told) else told[0] if told else None
    return Capacity(saturated, tuple(text for vote, text in votes if saturated is None or vote == saturated))


def reads_from_storage(signals: Signals) -> bool:
    """Making batches is mostly waiting, and most of what is read comes from storage."""
    costs = signals.evidence.costs
    if isinstance(costs, Unavailable) or costs.waiting is None or costs.cached is None:
        return False
    return costs.waiting >= MOSTLY_WAITING and costs.cached < 1 - MOSTLY_WAITING


def find_storage(signals: Signals) -> Capacity:
    """By how busy the busiest disk is; a network file system has none here, and cannot be told."""
    load = signals.evidence.load
    if isinstance(load, Unavailable) or load.disk_busy is None:
        return Capacity(None, ())
    text = f"the disk {load.disk} is {percent(load.disk_busy)} busy"
    return Capacity(load.disk_busy >= DISK_SATURATED, (text,))


def _by_load(signals: Signals) -> tuple[bool | None, str] | None:
    load = signals.evidence.load
    if isinstance(load, Unavailable) or load.cpu_busy is None:
        return None
    return _between(load.cpu_busy, CPU_FREE, CPU_SATURATED), f"the {load.cores} cores are {percent(load.cpu_busy)} busy"


def _by_run_delay(signals: Signals) -> tuple[bool | None, str] | None:
    costs = signals.evidence.costs
    if isinstance(costs, Unavailable) or costs.run_delay is None:
        return None
    text = f"workers wanted a core and had none for {percent(costs.run_delay)} of the time to make batches"
    return _between(costs.run_delay, NO_CORE / 3, NO_CORE), text


def _by_demand(signals: Signals) -> tuple[bool | None, str] | None:
    """CPU time of all workers against the cores. Others may use cores too, so it never shows that any is free."""
    costs, flow, cores = signals.evidence.costs, signals.evidence.flow.workers, signals.cores
    if isinstance(costs, Unavailable) or flow is None or cores is None:
        return None
    used = costs.process_cpu if costs.process_cpu is not None else costs.cpu
    if used is None:
        return None
    demand = used * flow.busy * flow.processes
    text = f"the workers use {significant(demand)} of {cores:g} cores"
    return True if demand >= CPU_SATURATED * cores else None, text


def _between(value: float, free: float, taken: float) -> bool | None:
    return True if value >= taken else False if value < free else None
