"""Whether waiting for Python's lock (the GIL) is worth a word, who held it, and whose call gave that thread its work:
for the verdict and its findings.
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.fed import filling_stages
from tb_dataplugin.findings.line_signals import StepLineSignal
from tb_dataplugin.findings.lock_signals import LockSignals
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import LOCK, ONE_HOLDER
from tb_dataplugin.units import percent

MOSTLY: Final = 0.5
"""Part of the waiting for the lock that a logger's lines have, from which its own thread is the likely holder."""


def lock_share(signals: Signals) -> float | None:
    """Of the window, waiting for the lock; None where that is too little, or may be chance."""
    lock = signals.lock
    part = None if lock is None else signals.share(lock.total_us)
    if lock is None or part is None or part < LOCK:
        return None
    return part if (signals.share(lock.total_us - lock.error_us) or 0.0) >= LOCK / 2 else None


def holder_of(lock: LockSignals) -> str:
    """The thread that held the lock for most of the time that is known; "" where none stands out."""
    if lock.is_of_workers:
        return ""
    name, held = next(iter(lock.holders_us.items()), ("", 0.0))
    return name if held >= ONE_HOLDER * sum(lock.holders_us.values()) else ""


def lock_sentence(signals: Signals) -> str:
    """Of the verdict, with a space before it; "" where there is nothing to say."""
    part = lock_share(signals)
    if signals.lock is None or part is None:
        return ""
    builds = " and which builds the batches" if mostly_loads(signals) else ""
    return f" For {percent(part)} of the window {lock_words(signals.lock)}{builds}{fed_words(signals)}."


def lock_words(lock: LockSignals) -> str:
    """Who waits for the lock, and who has it."""
    if lock.is_of_workers:
        return "DataLoader workers wait for Python's lock (GIL) of their process, which another thread in them holds"
    return f"the training thread waits for Python's lock (GIL), which {holder_words(lock) or 'another thread'} holds"


def holder_words(lock: LockSignals) -> str:
    """``the thread 'Thread-1' (tensorboard.summary.writer.event_file_writer)``; "" where none stands out."""
    name = holder_of(lock)
    known = lock.holders.get(name)
    return f"the thread {name!r}{f' ({known.runs})' if known else ''}" if name else ""


def loaded_by_feeder(signals: Signals) -> tuple[StageCalls, ...]:
    """What the thread that takes the batches takes longest for, where it builds them itself and no other thread was
    seen with the lock: which thread loads is known, and what holds the lock, but not which name is whose, unless that
    one was seen to load nothing.
    """
    lock = signals.lock
    is_alone = lock is not None and len(lock.holders_us) == 1 and holder_of(lock) not in lock.holders
    rows = filling_stages(signals) if is_alone and signals.workers is None else ()
    elsewhere = sum(row.self_us - row.in_thread_us for row in rows)
    is_elsewhere = signals.data_wait_us is None or 2 * elsewhere > sum(row.self_us for row in rows)
    return rows if is_elsewhere else ()


def mostly_loads(signals: Signals) -> bool:
    """Whether the thread that has the lock does little else than to build the batches."""
    return sum(row.self_us for row in loaded_by_feeder(signals)) > signals.feeder_us


def fed_words(signals: Signals) -> str:
    """Whose call gives that thread its work, where its stacks say so."""
    fed = feeding_line(signals)
    if fed is None or signals.lock is None or not is_known_to_feed(signals.lock, fed):
        return ""
    return f"; {fed.call or fed.text} ({fed.place}) gives it its work"


def feeding_line(signals: Signals) -> StepLineSignal | None:
    """The lines of the step whose call gives the thread its work that mostly holds the lock: it runs the library that
    they call. Where its stacks were not sampled, those of a logger in which the training thread mostly waits for it.
    """
    lock, step = signals.lock, signals.step
    if lock is None or step is None or lock_share(signals) is None or not holder_of(lock):
        return None
    if holder_of(lock) in lock.holders:
        return next((line for line in step.lines if is_known_to_feed(lock, line)), None)
    outside = signals.share(lock.outside_us) or 0.0
    writes = (line for line in step.lines if line.work == "output")
    return next((line for line in writes if line.part.share - line.own.share >= MOSTLY * outside), None)


def is_known_to_feed(lock: LockSignals, line: StepLineSignal) -> bool:
    known = lock.holders.get(holder_of(lock))
    return known is not None and known.package in line.libraries


def holder_line(lock: LockSignals) -> tuple[Evidence, ...]:
    """The hottest line of the thread that holds the lock; empty where it was not sampled."""
    name = holder_of(lock)
    known = lock.holders.get(name)
    if known is None:
        return ()
    whole = f"what the thread {name!r} runs"
    return (share("hot_line", known.line.share, whole, f"{known.line.text}: {known.line.share_of(whole)}"),)
