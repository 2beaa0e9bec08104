"""The workers are busy all the time, the CPUs are not: more workers would build batches faster."""

from __future__ import annotations

import math
from typing import Final

from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.findings.capacity import (
    MOST_BLOCKED,
    by_blocking,
    full_cpus,
    judge_cpus,
    judge_storage,
    reads_from_storage,
)
from tb_dataplugin.findings.dividing import divide_first
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.foresight import SHORT_OF_CPUS, Promise
from tb_dataplugin.findings.limiting import best_workers, expects_gain
from tb_dataplugin.findings.made_again import REASON, made_again, rare_calls
from tb_dataplugin.findings.more_workers import faster_with, most_with
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WORKERS_BUSY, WORKERS_SPARE, WORTH_WORKERS
from tb_dataplugin.findings.which_loader import loops_loader
from tb_dataplugin.units import percent, plural, ratio
from tb_dataplugin.whatif import Change

FULL: Final = (
    " In this capture {busy}: more DataLoader workers help there only because these are blocked for {blocked} of the "
    "build time, and need no CPU meanwhile. What they compute shares the CPUs with all else."
)


@rule(title="Too few DataLoader workers", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    workers, num_workers = signals.workers, signals.num_workers or 0
    if workers is None:
        return Abstention("The DataLoader workers left no records, so whether they were busy is unknown.")
    if workers.busy < WORKERS_SPARE or signals.lock_limits_wait:
        return None
    if workers.parts is not None and workers.parts.is_uneven:
        return None  # not how many they are, but that some have nothing left: the rule on uneven workers says so
    capacity = judge_cpus(signals)
    if capacity.saturated is None:
        seen = "; ".join(fact.text for fact in capacity.evidence)
        if seen:
            return Abstention(f"Whether any CPU was free is not clear: {seen}.")
        return Abstention("The capture does not show whether any CPU was free.")
    from_storage = reads_from_storage(signals)
    if capacity.saturated or (from_storage and judge_storage(signals).saturated):
        return None
    wanted, why = best_workers(signals, *_wanted(signals, num_workers))
    faster = faster_with(signals, wanted, num_workers)
    if (faster < WORTH_WORKERS or workers.busy < WORKERS_BUSY) and not _hides_late_ones(signals, wanted):
        return None
    whose = loops_loader(signals)
    busy = f"{'its' if whose else 'the'} DataLoader workers are busy for {percent(workers.busy)} {workers.of_whole}"
    facts = (
        share("workers_busy", workers.busy, workers.whole, busy),
        *capacity.evidence,
        *signals.wait_cost_evidence(),
    )
    if signals.kept_loads is not None:
        return _without_promise(signals.kept_loads, _who(num_workers, whose), facts)
    change = Change(workers=wanted)
    promise = signals.promise(change, most_with(signals, faster))
    if promise.without_gain:
        return None
    divide, times = divide_first(signals, wanted), max(faster, _times(signals, promise))
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=signals.wait_cost_us),
        title=f"{_who(num_workers, whose)} {_late(workers.busy)}, and {_room(signals, promise)}",
        advice=f"{divide.advice}Use num_workers={wanted}{f', {why},' if why else ''} and measure again. That builds "
        f"batches at most {ratio(times)} as fast, as long as CPUs, storage and memory bandwidth keep up."
        f"{_though_full(signals)}",
        evidence=(*facts, *promise.why),
        gain_us_per_step=promise.us_per_step,
        code=f"{divide.code}DataLoader(..., num_workers={wanted})",
        change=change,
        confidence="possible" if from_storage or signals.possible_lock else "likely",
        confidence_reason=_reason(signals, from_storage),
    )


def _who(num_workers: int, whose: str) -> str:
    return f"{plural(num_workers, 'DataLoader worker')}{f' of {whose}' if whose else ''}"


def _hides_late_ones(signals: Signals, wanted: int) -> bool:
    """Whether more workers help though these are not busy all the time: others have batches ready while one is late."""
    return bool(expects_gain(signals, Change(workers=wanted), 1 - 1 / WORTH_WORKERS))


def _late(busy: float) -> str:
    return "cannot build batches fast enough" if busy >= WORKERS_BUSY else "are late with some batches"


def _without_promise(kept: KeptLoads, who: str, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        severity="low",
        title=f"{who} cannot build batches fast enough, and more would repeat calls",
        advice=made_again(kept, "more DataLoader workers"),
        evidence=(*facts, rare_calls(kept)),
        confidence="possible",
        confidence_reason=REASON,
    )


def _reason(signals: Signals, from_storage: bool) -> str:
    if signals.possible_lock:
        return (
            f"The DataLoader workers are blocked in {signals.possible_lock}: if they wait for one another there, as "
            "those that write to one database do, more of them would only wait longer."
        )
    if from_storage:
        return "The DataLoader workers are mostly blocked by storage, which may have no more to give."
    return "Storage or memory bandwidth may be shared by the workers, which a trace does not show."


def _room(signals: Signals, promise: Promise) -> str:
    if _blocked(signals):
        return "more could wait at the same time"
    some = any(fact.kind == SHORT_OF_CPUS for fact in promise.why)
    return "CPUs are free part of the time" if some else "CPUs are free"


def _blocked(signals: Signals) -> float:
    """Share of the build time in which workers need no CPU, where that is most of it."""
    blocked = by_blocking(signals)
    return 0.0 if blocked is None or blocked.value is None else blocked.value


def _though_full(signals: Signals) -> str:
    """Why it may help though other sentences say that no CPU is free; "" where one is."""
    full = full_cpus(signals)
    return "" if full is None else FULL.format(busy=full.text, blocked=percent(_blocked(signals)))


def _wanted(signals: Signals, workers: int) -> tuple[int, int]:
    """As many as would keep up with the device by their mean times, and how many the CPUs carry at most."""
    rates = signals.throughput
    wanted = 2 * workers
    if rates is not None and rates.load and rates.device:
        wanted = math.ceil(workers * rates.device / rates.load)
    limit = int(signals.cpus / (1 - min(MOST_BLOCKED, _blocked(signals)))) if signals.cpus else wanted
    most = max(limit, workers + 1)
    return max(workers + 1, min(wanted, most)), most


def _times(signals: Signals, promise: Promise) -> float:
    """How many times as fast steps come with what is promised: where `whatif` expects more, so do batches."""
    left = (signals.step_us or 0.0) - (promise.us_per_step or 0.0)
    return (signals.step_us or 0.0) / left if left > 0 else 1.0
