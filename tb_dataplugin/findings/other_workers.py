"""More DataLoader workers for another DataLoader than the loop's, where those that it has are the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.apart_signals import OtherLoaderSignals
from tb_dataplugin.findings.capacity import MOST_BLOCKED, by_blocking, judge_cpus, share_what_is_full
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEALTHY, WORKERS_BUSY
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.units import duration, percent, plural
from tb_dataplugin.words import GAIN_BOUND

MORE: Final = (
    "Its {workers} cannot build batches fast enough: while the loop waits for them, {they} for {busy} of the time{room}"
    ". Try num_workers={wanted} for it: that saves at most {most} of data wait in this window, as long as CPUs, "
    "storage and memory bandwidth keep up. "
)
CAN_WAIT: Final = ", blocked for {blocked} of the build time: more of them can wait at the same time"
FREE: Final = ", and CPUs are free"
NEEDED: Final = "of the {wait} of data wait{starts}, {wanted} leave {least} or more, as no batch is built faster"
NO_STARTS: Final = " that is not for its workers to start and end"
CODE: Final = "DataLoader(..., num_workers={})  # the other DataLoader"


@dataclass(frozen=True, slots=True)
class MoreForOther:
    """`advice` has a space behind it. `saved_us`: of the window, at most; `why`: where that is not all of the wait."""

    advice: str
    code: str
    saved_us: float
    why: tuple[Evidence, ...] = ()


def more_for_other(signals: Signals, loader: LoaderInfo, others: Sequence[OtherLoaderSignals]) -> MoreForOther | None:
    """None where its workers are not the limit, or more would share what is full, or hardly save anything, or whether
    that is so is not known.

    Args:
        others: those of these settings, one after the other.
    """
    workers, wait_us = loader.num_workers or 0, sum(other.wait_us - other.starting_us for other in others)
    if not workers or wait_us <= 0 or _may_share(signals, loader):
        return None
    busy = min(1.0, sum(other.building.meanwhile_us for other in others) / wait_us)
    costs = max(others, key=lambda other: other.wait_us).building.costs
    theirs = replace(signals, costs=costs, workers=None, loader=loader)
    if busy < WORKERS_BUSY or judge_cpus(theirs).saturated is not False or share_what_is_full(theirs):
        return None
    fact = by_blocking(theirs)
    blocked = 0.0 if fact is None or fact.value is None else fact.value
    limit = int(signals.cpus / (1 - min(MOST_BLOCKED, blocked))) if signals.cpus else 2 * workers
    wanted = max(workers + 1, min(2 * workers, limit))
    # Of an iterable dataset each worker makes batches of its own samples: more workers, other batches.
    least_us = sum(other.building.least_wait_us(wanted, are_whole=loader.iterable is False) for other in others)
    saved_us = max(0.0, wait_us - least_us)
    if (signals.share(saved_us) or 0.0) < HEALTHY:
        return None
    advice = MORE.format(
        workers=plural(workers, "DataLoader worker"),
        they="it builds" if workers == 1 else "they build",
        busy=percent(busy),
        room=CAN_WAIT.format(blocked=percent(blocked)) if blocked else FREE,
        wanted=wanted,
        most=duration(saved_us),
    )
    return MoreForOther(advice, CODE.format(wanted), saved_us, _why(others, wait_us, least_us, wanted))


def _why(others: Sequence[OtherLoaderSignals], wait_us: float, least_us: float, wanted: int) -> tuple[Evidence, ...]:
    if not least_us:
        return ()
    text = NEEDED.format(
        wanted=plural(wanted, "DataLoader worker"),
        least=duration(least_us),
        wait=duration(wait_us),
        starts=NO_STARTS if any(other.starting_us for other in others) else "",
    )
    return (time(GAIN_BOUND, least_us, text),)


def _may_share(signals: Signals, loader: LoaderInfo) -> bool:
    """More workers may wait for one lock, or each read all of the dataset."""
    if signals.lock_limits_wait or signals.shared_lock is not None or signals.possible_lock:
        return True
    return bool(loader.iterable) and (bool(loader.drawn) or find_undivided(loader) is not None)
