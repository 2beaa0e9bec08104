"""What limits a part of the time, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tb_dataplugin.analyses.line_rows import estimate
from tb_dataplugin.analyses.thread_limits import Limits
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD
from tb_dataplugin.units import percent, plural

NAMES: Final = {
    "gil": "waiting for Python's lock (GIL)",
    "gc": "in Python's garbage collector",
    "own_gc": "in Python's garbage collector",
    "no_cpu": "waiting for a CPU",
    "blocked": "blocked",
}
"""`own_gc` is the training process's: measured, not sampled."""


DELAY_SHARED_OUT: Final = "an estimate: what its threads waited for a CPU, divided among their stages by CPU time"
"""Where a stage's waiting for a CPU comes from: `occupancy`."""


def limit_text(limits: Limits) -> str:
    """Who was held up by what in a part of the time, the largest limit first, what of it ran, and what the shares are
    estimated from; "" without any.

    Samples are few beside CPU times, which the stages have: the first share by samples says how far off it may be.
    """
    sampled = {"gil": limits.gil_ns, "no_cpu": limits.no_cpu_ns, "blocked": limits.blocked_ns}
    ran = None if None in sampled.values() or limits.gc_ns is None else limits.whole_ns - limits.gc_ns
    ran = None if ran is None else ran - sum(time or 0 for time in sampled.values())
    own: dict[str, int | None] = {"own_gc": limits.gc_in_training_ns, "gil": limits.gil_in_training_ns}
    count = plural(limits.samples, "sample")
    if not limits.with_workers:
        words = _shares(limits, {**sampled, **own}, ran)
        return f"the training thread was {words}, from {count} of its state" if words else ""
    theirs = {**sampled, "gil": limits.in_workers_ns, "gc": limits.gc_in_workers_ns}
    mine, words = _shares(limits, own), _shares(limits, theirs, ran)
    here = f"the training thread was {mine}" if mine else ""
    there = f"the DataLoader workers were {words}, from {count} of their state" if words else ""
    return "; ".join(filter(None, (here, there)))


def _shares(limits: Limits, times: Mapping[str, int | None], ran: int | None = None) -> str:
    """The largest first; "" where none is worth a word."""
    whole = max(1, limits.whole_ns)
    parts = [(name, time) for name, time in times.items() if time is not None and time >= LIMIT_WORTH_A_WORD * whole]
    if not parts:
        return ""
    parts.sort(key=lambda part: -part[1])
    words = [f"{NAMES[name]} for {percent(time / whole)}" for name, time in parts]
    words[0] += " of it"
    by_samples = next((place for place, (name, _) in enumerate(parts) if name != "own_gc"), None)
    if by_samples is not None:
        words[by_samples] += _interval(limits, parts[by_samples][1])
    if ran is not None and ran >= LIMIT_WORTH_A_WORD * whole:
        words.append(f"running for {percent(ran / whole)}")
    return ", ".join(words)


def _interval(limits: Limits, time_ns: int) -> str:
    """Of a share by samples, Wilson's."""
    if not limits.samples or not limits.whole_ns:
        return ""
    share = min(1.0, time_ns / limits.whole_ns)
    found = estimate(np.ones(limits.samples), np.full(limits.samples, share))
    return f" (95% interval {percent(found.low)} to {percent(found.high)})"
