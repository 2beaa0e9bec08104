"""What limits a part of the time, in a few words."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.line_rows import estimate
from tb_dataplugin.analyses.thread_limits import Limits
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD
from tb_dataplugin.units import percent, plural

NAMES: Final = {
    "gil": "waiting for Python's lock (GIL)",
    "gc": "in Python's garbage collector",
    "no_cpu": "waiting for a CPU",
    "blocked": "blocked",
}


DELAY_SHARED_OUT: Final = "an estimate: what its threads waited for a CPU, divided among their stages by CPU time"
"""Where a stage's waiting for a CPU comes from: `occupancy`."""


def limit_text(limits: Limits) -> str:
    """Who was held up by what in a part of the time, the largest limit first, what of it ran, and what the shares are
    estimated from; "" without any.

    Samples are few beside CPU times, which the stages have: the first share says how far off it may be.
    """
    known = {"gil": limits.gil_ns, "gc": limits.gc_ns, "no_cpu": limits.no_cpu_ns, "blocked": limits.blocked_ns}
    whole = max(1, limits.whole_ns)
    parts = [(name, time) for name, time in known.items() if time is not None and time >= LIMIT_WORTH_A_WORD * whole]
    if not parts:
        return ""
    parts.sort(key=lambda part: -part[1])
    words = ", ".join(
        f"{NAMES[name]} for {percent(time / whole)}{' of it' + _interval(limits, time) if not place else ''}"
        for place, (name, time) in enumerate(parts)
    )
    ran = limits.whole_ns - sum(time or 0 for time in known.values())
    if None not in known.values() and ran >= LIMIT_WORTH_A_WORD * whole:
        words += f", running for {percent(ran / whole)}"
    who = "the DataLoader workers were" if limits.with_workers else "the training thread was"
    return (
        f"{who} {words}, from {plural(limits.samples, 'sample')} of {'their' if limits.with_workers else 'its'} state"
    )


def _interval(limits: Limits, time_ns: int) -> str:
    """Of a share by samples, Wilson's."""
    if not limits.samples or not limits.whole_ns:
        return ""
    share = min(1.0, time_ns / limits.whole_ns)
    found = estimate(np.ones(limits.samples), np.full(limits.samples, share))
    return f" (95% interval {percent(found.low)} to {percent(found.high)})"
