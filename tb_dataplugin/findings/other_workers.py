"""More DataLoader workers for another DataLoader than the loop's, where those that it has are the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.apart_signals import OtherLoaderSignals
from tb_dataplugin.findings.capacity import MOST_BLOCKED, by_blocking, judge_cpus, share_what_is_full
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WORKERS_BUSY
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration, percent, plural

MORE: Final = (
    "Its {workers} cannot build batches fast enough: while the loop waits for them, {they} for {busy} of the time{room}"
    ". Try num_workers={wanted} for it: that saves at most {most} of data wait in this window, as long as CPUs, "
    "storage and memory bandwidth keep up. "
)
CAN_WAIT: Final = ", blocked for {blocked} of the build time: more of them can wait at the same time"
FREE: Final = ", and CPUs are free"
CODE: Final = "DataLoader(..., num_workers={})  # the other DataLoader"


def more_for_other(signals: Signals, loader: LoaderInfo, others: Sequence[OtherLoaderSignals]) -> tuple[str, str]:
    """Advice, with a space behind it, and code; "" where its workers are not the limit, or more would share what is
    full, or whether that is so is not known.

    Args:
        others: those of these settings, one after the other.
    """
    workers, most_us = loader.num_workers or 0, sum(other.wait_us - other.starting_us for other in others)
    if not workers or most_us <= 0 or _may_share(signals, loader):
        return "", ""
    busy = min(1.0, sum(other.building.meanwhile_us for other in others) / most_us)
    costs = max(others, key=lambda other: other.wait_us).building.costs
    theirs = replace(signals, costs=costs, workers=None, loader=loader)
    if busy < WORKERS_BUSY or judge_cpus(theirs).saturated is not False or share_what_is_full(theirs):
        return "", ""
    fact = by_blocking(theirs)
    blocked = 0.0 if fact is None or fact.value is None else fact.value
    limit = int(signals.cpus / (1 - min(MOST_BLOCKED, blocked))) if signals.cpus else 2 * workers
    wanted = max(workers + 1, min(2 * workers, limit))
    advice = MORE.format(
        workers=plural(workers, "DataLoader worker"),
        they="it builds" if workers == 1 else "they build",
        busy=percent(busy),
        room=CAN_WAIT.format(blocked=percent(blocked)) if blocked else FREE,
        wanted=wanted,
        most=duration(most_us),
    )
    return advice, CODE.format(wanted)


def _may_share(signals: Signals, loader: LoaderInfo) -> bool:
    """More workers may wait for one lock, or each read all of the dataset."""
    if signals.lock_limits_wait or signals.shared_lock is not None or signals.possible_lock:
        return True
    return bool(loader.iterable) and (bool(loader.drawn) or find_undivided(loader) is not None)
