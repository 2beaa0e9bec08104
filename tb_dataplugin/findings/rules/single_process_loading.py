"""Batches are built in the training process: by the training thread, one after the other with the training, or beside
it by another thread of the program (`Signals.built_beside`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from tb_dataplugin.analyses.built_beside import BuiltBeside
from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.analyses.other_programs import MANY, counted_as_others
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.analyses.wait_parts import COLLECTOR
from tb_dataplugin.findings.apart_signals import built_ahead_us
from tb_dataplugin.findings.capacity import MOST_BLOCKED, held_by_others, judge_cpus
from tb_dataplugin.findings.dividing import COPIES, divide_first
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.in_memory import is_in_memory
from tb_dataplugin.findings.limiting import best_workers
from tb_dataplugin.findings.made_again import REASON, made_again, rare_calls
from tb_dataplugin.findings.recorded_part import recorded_of_wait, recorded_wait_us
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MOSTLY_BLOCKED
from tb_dataplugin.findings.which_loader import loops_loader
from tb_dataplugin.findings.worker_copies import NEW
from tb_dataplugin.units import duration, plural, significant
from tb_dataplugin.whatif import Change
from tb_dataplugin.whatif.other_workers import FEW_TENSORS, USUALLY

FULL: Final = (
    "No CPU was free in this capture, so DataLoader workers would take CPU time from what ran there: first see that "
    "there is less work to do. "
)

FULL_OF_THREADS: Final = (
    "No CPU was free in this capture: beside the training thread, threads of libraries in its process (torch, NumPy, "
    "OpenCV) took {cpus} of {all}, perhaps only to wait for work. First see whether it is as fast with one thread "
    "each: then DataLoader workers have these CPUs. "
)

FULL_OF_OTHERS: Final = (
    "Other programs used {cpus} of {all} in this capture, and none was free: DataLoader workers would get a share of "
    "the CPUs partly at their expense, and how much of the gain is left beside them is unknown. Record again when they "
    "do not run. "
)

ONE_THREAD: Final = """import os
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the first lines of the program
# with OpenCV: cv2.setNumThreads(1)

"""

RESTARTED: Final = (
    "First keep the iterator, which is made in every step: DataLoader workers would start and end with it. "
)

REMADE: Final = "First make the DataLoader once: each new one would start workers, whatever persistent_workers says. "

MAY_WORSEN: Final = "A step may even get longer, since code with such large results may take longer in a worker."

MANY_SENT_US, SOME_SENT_US = USUALLY.ns(25) / 1e3, USUALLY.ns(8) / 1e3
"""What batches of so many tensors take to send. A longer data wait pays for that."""

MAY_COST_MORE: Final = (
    "A DataLoader worker takes about {few} to send a batch of two tensors, and {each} for each further one: with "
    "many tensors a step may even get longer."
)

ONE_IS_NONE: Final = (
    "DataLoader workers build several batches at once; a single one would only do what {thread} does now, in a process "
    "of its own. "
)

NOT_SHORTER: Final = (
    "A step is not expected to get shorter by them: sending batches, and sharing the CPUs, may take as long as what "
    "they take over. Keep them only if it does. "
)

IF_FREE: Final = "Where CPUs are free for them, try"

NOT_ALL_FREE: Final = "On average fewer CPUs were free than these processes would need."
NOT_RECORDED: Final = "Whether CPUs are free for further processes was not recorded."

UNKNOWN_CPUS: Final = 4
"""Workers to start with where the capture does not say how many CPUs there are."""

STAYS: Final = ("sampler", "wrapper")
"""Kinds of stages that are in the training thread also with DataLoader workers."""


@dataclass(frozen=True, slots=True)
class _Full:
    """No CPU was free: what the advice and the reason of the confidence say of that; "" where one was. `in_vain`: as
    the program itself has them, with what it has to compute; `of_threads`: with threads of libraries.
    """

    advice: str = ""
    reason: str = ""
    in_vain: bool = False
    of_threads: bool = False

    def __bool__(self) -> bool:
        return bool(self.advice)


@rule(title="No DataLoader workers", about="workers", input_bound=True)
def check(signals: Signals) -> Finding | None:
    cost, wait = signals.wait_cost_us, signals.asked_wait_us
    if signals.loader is None or signals.loader.num_workers != 0 or cost is None or signals.lock_limits_wait:
        return None
    if is_in_memory(signals):  # workers would add more than they take over
        return None
    stays = sum(one.cost_us for one in signals.waits_by_stage or () if one.name == COLLECTOR or one.kind in STAYS)
    if stays >= cost:
        return None
    total = () if wait is None else (time("data_wait", wait, f"{duration(wait)} of {signals.asked_wait}"),)
    facts = (Evidence("settings", "num_workers=0"), *signals.wait_cost_evidence(), *total, *_what_stays(stays))
    if signals.kept_loads is not None:
        return _without_promise(signals, signals.kept_loads, facts)
    if signals.built_beside is not None:
        return _more_than_threads(signals, signals.built_beside, cost - stays, facts)
    return _start_some(signals, cost - stays, facts)


def _start_some(signals: Signals, cost_us: float, facts: tuple[Evidence, ...]) -> Finding:
    """`cost_us`: of the data wait, what workers take over."""
    busy = judge_cpus(signals)
    full = _full(signals) if busy.saturated and not _blocked(signals) else _Full()
    workers, why = _workers(signals, cost_us)
    if signals.cpus and not full:
        workers, fewest = best_workers(signals, workers, _most_workers(signals))
        why = fewest or why
    recorded_us = recorded_wait_us(signals, but=STAYS)
    most = _most(signals, cost_us, workers if signals.cpus else None, recorded_us)
    change = Change(workers=workers)
    promise = signals.promise(change, most, recorded_us)
    facts = (*facts, *(busy.evidence if full else ()), *promise.why)
    if promise.without_gain:
        return _without_gain(signals, full, promise.without_gain, facts)
    is_less = promise.us_per_step is not None and promise.us_per_step >= (most or 0.0)
    facts = (*facts, *recorded_of_wait(signals, recorded_us, is_in_bound=not is_less))
    cost_us -= recorded_us
    may_cost_more, in_vain = _may_cost_more(signals, cost_us), promise.likely_us == 0
    how_severe = severity(signals, promise.us_per_step, otherwise_us=cost_us)
    if full.in_vain or in_vain or (may_cost_more and _is_little(signals, cost_us, SOME_SENT_US)):
        how_severe = "low"
    divide = divide_first(signals, workers)
    first = f"{divide.advice}{full.advice}{NOT_SHORTER if in_vain else ''}{_kept_first(signals)}"
    return Finding(
        severity=how_severe,
        title=_title(signals),
        advice=f"{first}Start with num_workers={workers} ({why}) and measure again. Throughput is then limited "
        f"by those processes{_other_numbers(signals)}.{'' if COPIES in divide.advice else NEW}",
        gain_us_per_step=promise.us_per_step,
        evidence=facts,
        code=f"{ONE_THREAD if full.of_threads else ''}{divide.code}{_code(signals, workers)}",
        change=change,
        confidence="possible" if full or in_vain or promise.may_worsen or may_cost_more else "likely",
        confidence_reason=may_cost_more or _reason(full, may_worsen=promise.may_worsen),
    )


def _more_than_threads(
    signals: Signals, beside: BuiltBeside, cost_us: float, facts: tuple[Evidence, ...]
) -> Finding | None:
    """Threads build already, beside the steps: only more processes than there are such threads build faster. `cost_us`:
    as in `_start_some`. None where the CPUs carry no more than these threads.
    """
    building_us = beside.building_us
    workers, why = _workers(signals, building_us)
    if workers <= beside.threads:
        workers, why = beside.threads + 1, "one more than threads build now"
        if signals.cpus and workers > _most_workers(signals):
            return None
    busy, free = judge_cpus(signals), _free_cpus(signals)
    is_free = free is not None and free >= (workers - beside.threads) * (1 - _blocked(signals))
    full = _full(signals) if busy.saturated and not _blocked(signals) else _Full()
    saved_us = max(0.0, min(cost_us, signals.own_window_us - building_us / workers))
    promise = signals.promise(Change(workers=workers), signals.per_step(saved_us))
    divide = divide_first(signals, workers)
    start = "Start with" if is_free else IF_FREE
    one = ONE_IS_NONE.format(thread="that thread" if beside.threads == 1 else "each of these threads")
    how_severe = severity(signals, promise.us_per_step, otherwise_us=saved_us)
    whose = "the thread that builds" if beside.threads == 1 else f"the {beside.threads} threads that build"
    text = f"{whose} batches: {duration(building_us)} in stages of building them"
    return Finding(
        severity=how_severe if is_free or free is None else "low",
        title=_title(signals),
        advice=f"{divide.advice}{full.advice}{_kept_first(signals)}{one}{start} num_workers={workers} ({why}) and "
        f"measure again.{'' if COPIES in divide.advice else NEW}",
        gain_us_per_step=promise.us_per_step,
        evidence=(*facts, time("building", building_us, text), *(() if is_free else busy.evidence), *promise.why),
        code=f"{ONE_THREAD if full.of_threads else ''}{divide.code}{_code(signals, workers)}",
        change=Change(workers=workers),
        confidence="likely" if is_free else "possible",
        confidence_reason=_reason(full) if is_free or full else NOT_RECORDED if free is None else NOT_ALL_FREE,
    )


def _free_cpus(signals: Signals) -> float | None:
    """On average; None where the load was not recorded."""
    load = signals.load
    return None if load is None or load.cpu_busy is None else load.cores * (1 - load.cpu_busy)


def _kept_first(signals: Signals) -> str:
    return RESTARTED if signals.restarts else REMADE if signals.remade else ""


def _may_cost_more(signals: Signals, cost_us: float) -> str:
    """Where sending batches may take what building them did; "" where it does not, or `whatif` knows."""
    if (signals.foresight and signals.foresight.predicts) or not _is_little(signals, cost_us, MANY_SENT_US):
        return ""
    return MAY_COST_MORE.format(few=duration(USUALLY.ns(FEW_TENSORS) / 1e3), each=duration(USUALLY.tensor / 1e3))


def _is_little(signals: Signals, cost_us: float, sent_us: float) -> bool:
    saved = signals.per_step(cost_us)
    return saved is not None and saved < sent_us


def _full(signals: Signals) -> _Full:
    cpus, own, others = signals.cpus, _cpus_of_libraries(signals), held_by_others(signals)
    none_free = "No CPU was free for them."
    if cpus and own is not None and own >= MANY * cpus:
        text = FULL_OF_THREADS.format(cpus=f"{own:.2g}", all=plural(int(cpus), "CPU"))
        reason = "Without these threads, CPUs are free for them." if others is None else none_free
        return _Full(text, reason, of_threads=True)
    if others is not None:
        text = FULL_OF_OTHERS.format(cpus=significant(others.others), all=plural(others.cores, "CPU"))
        return _Full(text, f"{none_free} {counted_as_others(others)}")
    return _Full(FULL, none_free, in_vain=True)


def _cpus_of_libraries(signals: Signals) -> float | None:
    """CPUs of threads in the training process, without it and those that build batches: one each at most."""
    own, beside = signals.beside_training_thread, signals.built_beside
    return own if own is None or beside is None else max(0.0, own - beside.threads)


def _reason(full: _Full, *, may_worsen: bool = False) -> str:
    if full:
        return full.reason
    estimated = "The data wait is measured; how much of it workers take over is estimated"
    return f"{estimated}. {MAY_WORSEN}" if may_worsen else f"{estimated}."


def _code(signals: Signals, workers: int) -> str:
    """Workers live on only as long as their DataLoader."""
    made = "loader = " if signals.remade else ""
    once = "  # once, before the epochs" if signals.remade else ""
    return f"{made}DataLoader(..., num_workers={workers}, persistent_workers=True){once}"


def _without_gain(signals: Signals, full: _Full, steps: str, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        severity="low",
        saves=False,
        title=_title(signals),
        advice=f"{full.advice}{steps[0].upper()}{steps[1:]}: make what they would do faster first.",
        evidence=facts,
        confidence="possible" if full else "likely",
        confidence_reason=_reason(full, may_worsen=False)
        if full
        else "The data wait is measured; the rest is predicted.",
    )


def _without_promise(signals: Signals, kept: KeptLoads, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        severity="low",
        title=_title(signals),
        advice=made_again(kept, "DataLoader workers"),
        evidence=(*facts, rare_calls(kept)),
        confidence="possible",
        confidence_reason=REASON,
    )


def _title(signals: Signals) -> str:
    beside, who = signals.built_beside, "the training thread builds every batch itself"
    if beside is not None:
        threads = "another thread" if beside.threads == 1 else f"{beside.threads} other threads"
        who = f"{threads} of the program build{'s' if beside.threads == 1 else ''} its batches, one after the other"
    return f"{_whose(signals)} has no workers: {who}"


def _other_numbers(signals: Signals) -> str:
    predicts = signals.foresight is not None and signals.foresight.predicts
    return "; `tb-dataplugin whatif` predicts other numbers" if predicts else ""


def _workers(signals: Signals, cost_us: float) -> tuple[int, str]:
    """How many, and why: as many as keep up with the rest of the step, within the CPUs that building needs."""
    if not signals.cpus or signals.asked_wait_us is None:
        return UNKNOWN_CPUS, "or one less than the machine has CPUs"
    rest = signals.own_window_us - signals.asked_wait_us
    blocked, most = _blocked(signals), _most_workers(signals)
    if cost_us <= most * rest:
        return max(1, ceil(cost_us / rest)), "as many as keep up with the rest of the step"
    cpus = plural(int(signals.cpus), "CPU")
    return most, f"they mostly wait, so {cpus} carry more" if blocked else "as many as there are CPUs"


def _most_workers(signals: Signals) -> int:
    """That the CPUs carry, by how much of building needs one."""
    return max(1, int((signals.cpus or UNKNOWN_CPUS) / (1 - min(MOST_BLOCKED, _blocked(signals)))))


def _blocked(signals: Signals) -> float:
    """Share of the time to build batches that needs no CPU, where that is most of it; else 0."""
    uses = [row.cpu_use for row in signals.stages if row.stage.kind in BUILDING and row.cpu_use is not None]
    blocked = sum(use.blocked_us for use in uses)
    whole = sum(use.cpu_us + use.run_delay_us + use.blocked_us for use in uses)
    return blocked / whole if whole and blocked >= MOSTLY_BLOCKED * whole else 0.0


def _whose(signals: Signals) -> str:
    name = loops_loader(signals) or "the DataLoader"
    return f"{name[0].upper()}{name[1:]}"


def _what_stays(stays_us: float) -> tuple[Evidence, ...]:
    if not stays_us:
        return ()
    text = (
        f"{duration(stays_us)} of it is drawing indices, code around the DataLoader and collecting garbage, which "
        "workers do not take over"
    )
    return (time("training_thread", stays_us, text),)


def _most(signals: Signals, cost_us: float, workers: int | None, recorded_us: float) -> float | None:
    """Per step, at most: `cost_us`, and no faster than that many workers build batches, which go on while the loop
    waits for another DataLoader. Both without `recorded_us`: of the data wait, what recording has. None without steps.
    """
    if signals.wait_cost_us is None or signals.asked_wait_us is None:
        return None
    building_us = max(0.0, signals.asked_wait_us - recorded_us)
    fastest = max(0.0, building_us / workers - built_ahead_us(signals.apart)) if workers else 0.0
    return signals.per_step(max(0.0, min(cost_us, signals.own_window_us - fastest) - recorded_us))
