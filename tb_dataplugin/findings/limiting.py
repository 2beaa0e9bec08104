"""DataLoader workers of which the slowest sets the pace, since batches are taken from one after the other."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.foresight import WORTH_SAYING
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.worker_signals import PaceSignals
from tb_dataplugin.whatif import Change

FEWEST: Final = "the fewest with which `tb-dataplugin whatif` predicts about the shortest steps"


def limiting_pace(signals: Signals) -> PaceSignals | None:
    """None where they are alike, or nobody waits for their turn."""
    pace = signals.workers.pace if signals.workers else None
    if pace is None or not pace.is_uneven or not signals.builds_batches_in_workers:
        return None
    return None if signals.loader is not None and signals.loader.in_order is False else pace


def limiting_worker(signals: Signals) -> int | None:
    """The DataLoader worker that all wait for: that of the largest part of an iterable dataset, or the slowest. None
    where there is no such one.
    """
    parts = signals.workers.parts if signals.workers else None
    if parts is not None and signals.builds_batches_in_workers:
        return parts.largest
    pace = limiting_pace(signals)
    return None if pace is None else pace.slowest


def expects_gain(signals: Signals, change: Change, least: float = WORTH_SAYING) -> bool | None:
    """Whether `whatif` expects shorter steps of that change; None where it cannot say."""
    return None if signals.foresight is None else signals.foresight.expects_gain(change, least)


def best_workers(signals: Signals, wanted: int, most: int) -> tuple[int, str]:
    """How many DataLoader workers to advise, up to `most`; and why, where it is not `wanted`, which is by the mean time
    of a batch: `whatif` knows which of them each worker gets.
    """
    best = wanted if signals.foresight is None else signals.foresight.best_workers(wanted, most)
    return best, "" if best == wanted else FEWEST


def more_workers_in_vain(signals: Signals) -> bool:
    """Whether it expects none of one DataLoader worker more, nor of twice as many. Of parts of unequal size it does not
    know what more workers get.
    """
    if signals.workers is not None and signals.workers.parts is not None:
        return False
    now = signals.num_workers or 0
    return all(expects_gain(signals, Change(workers=number)) is False for number in (now + 1, 2 * now))
