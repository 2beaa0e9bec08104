"""Batches are built in the training thread, one after the other with the training."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.findings.capacity import judge_cpus
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.in_memory import is_in_memory
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MOST_BLOCKED, MOSTLY_BLOCKED
from tb_dataplugin.findings.worker_sentences import name_of
from tb_dataplugin.units import duration, percent, plural

UNKNOWN_CPUS: Final = 4
"""DataLoader workers to start with where the number of CPUs is unknown."""

FULL: Final = "No CPU was free in this capture, so DataLoader workers would take CPU time from what ran there. "

STAYS: Final = ("sampler", "wrapper")
"""Kinds of stages that are in the training thread also with DataLoader workers."""


@rule(title="No DataLoader workers", about="workers", input_bound=True)
def check(signals: Signals) -> Finding | None:
    cost, wait = signals.wait_cost_us, signals.data_wait_us
    if signals.loader is None or signals.loader.num_workers != 0 or cost is None or signals.lock_limits_wait:
        return None
    if is_in_memory(signals):  # workers would add more than they take over
        return None
    stays = sum(one.cost_us for one in signals.waits_by_stage or () if one.stage and one.stage.kind in STAYS)
    if stays >= cost:
        return None
    cost -= stays
    cpus = int(signals.cpus) if signals.cpus else None
    busy = judge_cpus(signals)
    full = FULL if busy.saturated and not _is_blocked(signals) else ""
    workers = (max(1, cpus - 1) if full else _workers(signals, cpus)) if cpus else UNKNOWN_CPUS
    gain = _gain(signals, cost, workers if cpus else None)
    start = _why(signals, workers, cpus) if cpus else "or one less than the machine has CPUs"
    total = () if wait is None else (time("data_wait", wait, f"{duration(wait)} of data wait in total"),)
    how_severe = severity(signals, gain, otherwise_us=cost)
    return Finding(
        severity="medium" if full and how_severe == "high" else how_severe,
        title=f"{_whose(signals)} has no workers: the training thread builds every batch itself",
        advice=f"{full}Start with num_workers={workers} ({start}) and measure again. Throughput is then limited by "
        "those processes.",
        gain_us_per_step=gain,
        evidence=(
            Evidence("settings", "num_workers=0"),
            *signals.wait_cost_evidence(),
            *total,
            *_what_stays(stays),
            *(busy.evidence if full else ()),
        ),
        code=f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
        confidence="possible" if full else "measured",
        confidence_reason="No CPU was free for them." if full else "",
    )


def _workers(signals: Signals, cpus: int) -> int:
    """The fewest that build batches as fast as they are trained on, or as the CPUs allow; but one less than the CPUs is
    no risk. While the training thread waits, its CPU is free; and what is blocked needs none.
    """
    start, wait = max(1, cpus - 1), signals.data_wait_us or 0.0
    limit = int(cpus / (1 - min(MOST_BLOCKED, _blocked(signals))))
    fastest = _shortest_us(signals, cpus)
    return max(start, min(limit, math.ceil(wait / fastest))) if fastest > 0.0 else max(start, limit)


def _shortest_us(signals: Signals, cpus: int) -> float:
    """The loop with any number of workers, at least: training, and all that computes on all CPUs."""
    wait = signals.data_wait_us or 0.0
    rest = max(0.0, signals.window_us - wait)
    return max(rest, (wait * (1 - _blocked(signals)) + rest) / cpus)


def _why(signals: Signals, workers: int, cpus: int) -> str:
    if workers < cpus:
        return f"one less than the {plural(cpus, 'CPU')}"
    if workers > cpus:
        return f"building batches is blocked for {percent(_blocked(signals))} of the time, and needs no CPU meanwhile"
    waits = percent(signals.share(signals.data_wait_us))
    return f"the number of CPUs: the training thread, which waits for {waits} of the window, needs hardly any"


def _blocked(signals: Signals) -> float:
    """Share of the time in stages that build batches in which they need no CPU."""
    uses = [row.cpu_use for row in signals.stages if row.stage.kind in BUILDING and row.cpu_use is not None]
    whole = sum(use.cpu_us + use.run_delay_us + use.blocked_us for use in uses)
    return sum(use.blocked_us for use in uses) / whole if whole else 0.0


def _is_blocked(signals: Signals) -> bool:
    """Stages that mostly wait for something else need no CPU of their own."""
    return _blocked(signals) >= MOSTLY_BLOCKED


def _whose(signals: Signals) -> str:
    if not signals.has_several_loaders or signals.loader is None:
        return "The DataLoader"
    name = name_of(replace(signals.loader, num_workers=None))  # the title says it
    return f"{name[0].upper()}{name[1:]}"


def _what_stays(stays_us: float) -> tuple[Evidence, ...]:
    if not stays_us:
        return ()
    text = (
        f"{duration(stays_us)} of it is drawing indices and code around the DataLoader, which workers do not take over"
    )
    return (time("training_thread", stays_us, text),)


def _gain(signals: Signals, cost_us: float, workers: int | None) -> float | None:
    """Per step, at most: `cost_us`, and no faster than that many workers build batches, nor than the CPUs compute all
    of it. None without steps.
    """
    if signals.wait_cost_us is None or signals.data_wait_us is None:
        return None
    fastest = signals.data_wait_us / workers if workers else 0.0
    if workers and signals.cpus and workers >= int(signals.cpus):
        fastest = max(fastest, _shortest_us(signals, int(signals.cpus)))
    return signals.per_step(max(0.0, min(cost_us, signals.window_us - fastest)))
