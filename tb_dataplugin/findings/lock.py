"""Whether waiting for Python's lock (the GIL) is worth a word, and who held it: for the verdict and its finding."""

from __future__ import annotations

from tb_dataplugin.findings.signals import LockSignals, Signals
from tb_dataplugin.findings.thresholds import LOCK, ONE_HOLDER
from tb_dataplugin.units import percent


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
    return f" For {percent(part)} of the window {lock_words(signals.lock)}."


def lock_words(lock: LockSignals) -> str:
    """Who waits for the lock, and who has it."""
    name = holder_of(lock)
    if lock.is_of_workers:
        return "DataLoader workers wait for Python's lock (GIL) of their process, which another thread in them holds"
    who = f"the thread {name!r}" if name else "another thread"
    return f"the training thread waits for Python's lock (GIL), which {who} holds"
