"""The sentence about the DataLoader workers of one loader: how busy they are, and whether they keep up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.worker_summary import WorkerSummary
from tb_dataplugin.findings.init_texts import init_part
from tb_dataplugin.findings.thresholds import (
    HARDLY_BUILT,
    HIGHLY_INPUT_BOUND,
    INPUT_BOUND,
    LEAST_BATCHES,
    MOSTLY_BUILT,
    MOSTLY_READY,
    UNEVEN,
    WORKERS_BUSY,
    WORKERS_SPARE,
)
from tb_dataplugin.findings.worker_signals import PaceSignals, PartsSignals, lived_through
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration, percent, plural, ratio

STARTING: Final = 0.01
"""Share of the window, below which the longest start of a DataLoader worker is not mentioned."""


@dataclass(frozen=True, slots=True)
class LoopShare:
    """Of the training loop's DataLoader workers, without what is told apart: `busy` of their lifetimes, `wait` of the
    window, `ready` of that for batches that were finished before; `left_out` names what is told apart. `lived_through`:
    their lifetimes are all of the window that is left.
    """

    busy: float
    wait: float
    ready: float | None
    left_out: str
    lived_through: bool


def worker_sentence(
    summary: WorkerSummary,
    window: Window,
    built_share: float | None = None,
    loader: LoaderInfo | None = None,
    loop: LoopShare | None = None,
    *,
    gives_cpus: bool = False,
    more_in_vain: Callable[[], bool] = lambda: False,
) -> str:
    """`built_share`: of the data wait, what the stages that build batches caused; None where that is not known.
    `loader`: whose workers they are, where there are several DataLoaders. `loop`: where something is told apart.
    `gives_cpus`: the step waits for CPUs that they have. `more_in_vain`: `whatif` expects nothing of more of them.
    """
    busy = summary.busy_ns / summary.alive_ns if summary.alive_ns else 0.0
    wait = None if summary.wait_ns is None else summary.wait_ns / window.duration_ns
    whole, span = _lifetimes(summary, window), "it" if _lived_through(summary, window) else "the window"
    if loop is not None:
        whole, span = _rest_of_lifetimes(summary, window, loop, busy), "the rest of the window"
        busy, wait, summary = loop.busy, loop.wait, replace(summary, ready_wait_share=loop.ready)
    several = plural(summary.workers + summary.absent, "DataLoader worker")
    some = f"{summary.workers} of " if summary.absent else ""
    who = f"{some}{several}{'' if loader is None else f' of {name_of(loader)}'}"
    are = "is" if summary.workers == 1 else "are"
    span = span if loader is None else f"{span} for its batches"
    pace = PaceSignals.of(summary.pace) if summary.pace else None
    pace = pace if pace is not None and pace.is_uneven else None
    why_late = partial(_why_late, pace if summary.in_turn else None, more_in_vain)
    balance = _balance(summary, busy, wait, span, built_share, gives_cpus, why_late)
    uneven = "" if pace is not None and pace.text in balance else _uneven(summary, pace)
    without = f"Without {loop.left_out}, " if loop is not None else ""
    return f"{without}{who} {are} busy {percent(busy)} of {whole}{balance}.{uneven}{_starting(summary, window)}"


def _lived_through(summary: WorkerSummary, window: Window) -> bool:
    return lived_through(summary.alive_ns, window.duration_ns)


def _lifetimes(summary: WorkerSummary, window: Window, which: str = "") -> str:
    """What shares of all of their time are of. `which`: stands before it, with a space behind it."""
    if _lived_through(summary, window):
        return f"the {which}window"
    return f"its {which}lifetime" if summary.workers == 1 else f"their {which}lifetimes"


def _rest_of_lifetimes(summary: WorkerSummary, window: Window, loop: LoopShare, busy: float) -> str:
    """What the loop's share is of; and the share `busy` of all of their time, which tables have, where it differs."""
    own = "its lifetime" if summary.workers == 1 else "their lifetimes"
    rest = f"the rest of {'the window' if loop.lived_through else own}"
    if percent(busy) == percent(loop.busy):
        return rest
    return f"{rest} ({percent(busy)} of {_lifetimes(summary, window, 'whole ')})"


def _starting(summary: WorkerSummary, window: Window) -> str:
    """What of their start is the user's; "" where that is next to nothing."""
    inside = init_part(summary.init_ns / 1e3, summary.startup_ns / 1e3)
    if not inside or summary.startup_ns < STARTING * window.duration_ns:
        return ""
    return f" A start takes up to {duration(summary.startup_ns / 1e3)}, {inside}."


def quiet_sentence(summaries: Sequence[WorkerSummary]) -> str:
    """Counts the DataLoader workers that are not listed; "" where there are none."""
    quiet = [summary for summary in summaries if summary.quiet]
    if not quiet:
        return ""
    who = plural(sum(summary.workers for summary in quiet), "DataLoader worker")
    whose = "a DataLoader" if len(quiet) == 1 else plural(len(quiet), "DataLoader")
    return f"Not listed: {who} of {whose} without batches in this window."


def _why_late(pace: PaceSignals | None, more_in_vain: Callable[[], bool]) -> str:
    """Of batches that come late though workers have time to spare; "" where nothing is known."""
    if pace is not None:
        return f": batches are taken from them in turn, and {pace.text}"
    return ": more DataLoader workers would not shorten the data wait" if more_in_vain() else ""


def _balance(
    summary: WorkerSummary,
    busy: float,
    wait: float | None,
    whole: str,
    built_share: float | None,
    gives_cpus: bool,
    why_late: Callable[[], str],
) -> str:
    """How busy they are against how long the training thread waits: the four corners, and what lies between."""
    if wait is None:
        its = "its" if summary.workers == 1 else "their"
        return f", and another thread than the training one takes {its} batches" if summary.elsewhere else ""
    they, keep = ("it", "keeps") if summary.workers == 1 else ("they", "keep")
    waits = f"waits {percent(wait)} of {whole}"
    if wait < INPUT_BOUND:
        if busy >= WORKERS_BUSY:
            return f" and the training thread {waits}: {they} {keep} up, with little to spare"
        if busy < WORKERS_SPARE:
            return f" and the training thread {waits}: more of them would not help"
        return f" and the training thread {waits}: {they} {keep} up"
    is_ready = (summary.ready_wait_share or 0.0) > MOSTLY_READY
    if is_ready and (built_share or 0.0) < MOSTLY_BUILT:
        built = built_share or 0.0
        building = "not the bottleneck" if built < HARDLY_BUILT else f"{percent(built)} of that"
        ready = f"mostly while finished batches are in the queue: building them is {building}"
        return f" and the training thread {waits}, but {ready}"
    if busy >= WORKERS_BUSY:
        still = "still " if wait >= HIGHLY_INPUT_BOUND else ""
        return f" and the training thread {still}{waits}: {cannot_keep_up(they, wait, gives_cpus=gives_cpus)}"
    if busy < WORKERS_SPARE:
        return f", yet the training thread {waits}{why_late()}"
    on_way = ", mostly for finished batches that are on their way while the next are built" if is_ready else ""
    return f" and the training thread {waits}{on_way}"


def cannot_keep_up(they: str, wait: float, *, gives_cpus: bool = False) -> str:
    """In proportion to the data wait, a share of the time: faster workers save no more than it, and what they give the
    step of CPUs that it waits for.

    Args:
        they: "it" or "they".
    """
    if wait >= HIGHLY_INPUT_BOUND:
        return f"{they} cannot keep up"
    keep = "keeps" if they == "it" else "keep"
    besides = " plus the CPU time that the step gets back (see Findings)" if gives_cpus else ""
    return f"{they} nearly {keep} up, and faster batches save at most that{besides}"


def _uneven(summary: WorkerSummary, pace: PaceSignals | None) -> str:
    """`pace`: where it is not said yet, and known."""
    parts = PartsSignals.of(summary.parts) if summary.parts else None
    if parts is not None and parts.is_uneven:
        return f" {parts.text}: the parts of the dataset are of unequal size."
    if summary.batches < LEAST_BATCHES * summary.workers or summary.skew is None or summary.skew < UNEVEN:
        return ""
    if pace is not None and summary.in_turn:
        return f" {pace.text}."
    if pace is not None:
        later = "; each has to deliver its own part of the data, so the wait for slow ones may come later in the epoch"
        return f" Batches are taken as they come: {pace.text}{later if summary.own_parts else ''}."
    return f" DataLoader worker {summary.most_skewed} has {ratio(summary.skew)} the mean work."
