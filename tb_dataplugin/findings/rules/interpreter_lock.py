"""The training thread waits for Python's lock (the GIL), which another thread of its process holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import beside_line, feeder_line, lock_line, stage_line
from tb_dataplugin.findings.lock import (
    feeding_line,
    holder_line,
    holder_of,
    holder_words,
    is_known_to_feed,
    loaded_by_feeder,
    lock_share,
    lock_words,
    mostly_loads,
)
from tb_dataplugin.findings.lock_signals import LockSignals
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import WORTH_SAYING, Saving, until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import line_with_lock
from tb_dataplugin.units import duration, percent

IN_TRAINING: Final = (
    "Move what {} does out of the training process: into a separate process (multiprocessing, with a queue "
    "between them), or into numpy or torch, which release the lock. Or do it less often. One thread runs Python at a "
    "time and keeps the lock for 5 ms, so neither DataLoader workers nor another thread would help."
)

OF_CALL: Final = (
    "Call {call} ({place}) less often, or with less at a time: what it is given, {holder} works through in Python, and "
    "holds the lock meanwhile. Neither DataLoader workers nor another thread would help."
)

IN_FEEDER: Final = (
    "{} builds the batches itself. Give that DataLoader workers, one to begin with: they are processes with "
    "a lock each, and the thread then only hands their batches on. What else it does belongs into a process too, or "
    "into numpy or torch, which release the lock."
)

IN_WORKERS: Final = (
    "Something runs Python beside the dataset in each DataLoader worker: a thread pool, a logger, a prefetching "
    "thread. Have the workers do its work in turn{more}."
)
MORE_WORKERS: Final = ", or use more workers and no threads in them"


LITTLE: Final = 0.1
"""Part of what the thread that takes the batches runs, below which its lines are not to blame."""


@rule(title="Waiting for Python's lock (GIL)", about="host")
def check(signals: Signals) -> Finding | None:
    lock, part = signals.lock, lock_share(signals)
    if lock is None or part is None or line_with_lock(signals) is not None:
        return None
    holder, cost = holder_of(lock), lock.total_us + sum(us for us, _ in _beside(signals, lock))
    saving = Saving(cost) if lock.is_of_workers else until_workers_limit(signals, cost)
    gain = signals.per_step(saving.us)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"For {percent(part)} of the window {lock_words(lock)}",
        advice=_advice(signals, lock),
        evidence=(*_evidence(signals, lock), *saving.why),
        gain_us_per_step=gain,
        confidence="measured" if holder else "likely",
        confidence_reason="" if holder else "The samples do not show which thread held the lock.",
    )


def _beside(signals: Signals, lock: LockSignals) -> Iterator[tuple[float, str]]:
    """What else of the training thread's time may go with the other thread, and in words: all that it is not running,
    where it draws its batches from a thread that waits for the same lock.
    """
    if lock.is_of_workers:
        return
    if lock.no_cpu_us >= WORTH_SAYING * signals.window_us:
        yield lock.no_cpu_us, "it waits for a CPU, which the thread with the lock also needs"
    if signals.is_fed and lock.blocked_us >= WORTH_SAYING * signals.window_us:
        yield lock.blocked_us, "it is blocked, as by the queue of a thread that waits for the lock as well"


def _advice(signals: Signals, lock: LockSignals) -> str:
    if lock.is_of_workers:
        return IN_WORKERS.format(more=MORE_WORKERS if find_undivided(signals.loader) is None else "")
    holder, line = holder_words(lock) or "the thread that holds it", feeding_line(signals)
    if line is not None and is_known_to_feed(lock, line):
        return OF_CALL.format(call=line.call or line.text, place=line.place, holder=holder)
    return IN_FEEDER.format(f"{holder[0].upper()}{holder[1:]}") if mostly_loads(signals) else IN_TRAINING.format(holder)


def _evidence(signals: Signals, lock: LockSignals) -> Iterator[Evidence]:
    each = signals.per_step(lock.total_us)
    if each is not None:
        error = signals.per_step(lock.error_us) or 0.0
        yield time("gil_per_step", each, f"{duration(each)} per step, give or take {duration(error)} (95%)", "step")
        for more, words in _beside(signals, lock):
            yield time("beside_lock", more, f"for {duration(signals.per_step(more) or 0.0)} more {words}", "step")
    where = _where(signals)
    if lock.outside_us:
        text = f"{duration(lock.outside_us)} of the {where}, {percent(lock.host_share)} of it{_without(lock)}"
        yield share("gil_host", lock.host_share, where, text)
    if lock.wait_us:
        text = f"{duration(lock.wait_us)} of the data wait, {percent(lock.wait_share)} of it{_without(lock)}"
        yield share("gil_data_wait", lock.wait_share, "data wait", text)
    if lock.is_of_workers:
        return
    yield from _where_held(signals, lock)
    yield from lock_line(signals)
    known = sum(lock.holders_us.values())
    whole = f" of the {duration(known)} whose holder is known"
    for name, held in list(lock.holders_us.items())[:3]:
        text = f"{name} held it for {percent(held / known)}{whole}"
        yield share("lock_holder", held / known, "waits with a known holder", text)
        whole = ""


def _without(lock: LockSignals) -> str:
    return ", without waiting for the recorder's own thread" if lock.has_recorder else ""


def _where_held(signals: Signals, lock: LockSignals) -> tuple[Evidence, ...]:
    """Where in the code the lock is held, or that nobody saw it."""
    lines = holder_line(lock) or tuple(_in_feeder(signals) if len(lock.holders_us) == 1 else beside_line(signals))
    if lines or not holder_of(lock):
        return lines
    return (Evidence("no_line", f"which line holds it is not known: {holder_words(lock)} was not sampled"),)


def _in_feeder(signals: Signals) -> Iterator[Evidence]:
    """What the thread that takes the batches runs: loading, where it does that itself, and what it does besides. What
    has most of its time comes first, and what has little is left out.
    """
    rows = loaded_by_feeder(signals)
    loading = sum(row.self_us for row in rows)
    parts = [
        (loading, stage_line(signals, rows[0].stage.name) if rows else ()),
        (signals.feeder_us, feeder_line(signals)),
    ]
    whole = loading + signals.feeder_us
    for time_us, lines in sorted(parts, key=lambda part: -part[0]):
        if not loading or time_us >= LITTLE * whole:
            yield from lines


def _where(signals: Signals) -> str:
    """What it is a part of, besides the data wait."""
    if signals.has_device:
        return "idle time in host and launch"
    return "window" if signals.data_wait_us is None else "time outside the data wait"
