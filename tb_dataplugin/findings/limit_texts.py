"""What limits a part of the time, in a few words."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.thread_limits import Limits
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD
from tb_dataplugin.units import duration, percent, plural

NAMES: Final = {
    "gil": "waiting for Python's lock (GIL)",
    "gc": "in the garbage collector",
    "no_cpu": "waiting for a CPU",
    "blocked": "blocked",
}


DELAY_SHARED_OUT: Final = "estimated: what its threads waited in all, shared out by CPU time"
"""Where a stage's waiting for a CPU comes from: `occupancy`."""


def limit_text(limits: Limits) -> str:
    """The limits worth a word, the largest first, and what they are estimated from; "" when there are none."""
    known = {"gil": limits.gil_ns, "gc": limits.gc_ns, "no_cpu": limits.no_cpu_ns, "blocked": limits.blocked_ns}
    whole = max(1, limits.whole_ns)
    parts = [(name, time) for name, time in known.items() if time is not None and time >= LIMIT_WORTH_A_WORD * whole]
    if not parts:
        return ""
    words = ", ".join(
        f"{NAMES[name]} {duration(time / 1e3)} ({percent(time / whole)})"
        for name, time in sorted(parts, key=lambda part: -part[1])
    )
    whose = ", of the DataLoader workers that it waits for" if limits.with_workers else ""
    return f"{words}{whose}; by {plural(limits.samples, 'thread sample')}"
