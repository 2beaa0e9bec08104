"""What limits a part of the time, in a few words."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.line_rows import estimate
from tb_dataplugin.analyses.thread_limits import Limits, Side
from tb_dataplugin.findings.thresholds import LIMIT_WORTH_A_WORD
from tb_dataplugin.units import percent, plural

NAMES: Final = {
    "gil": "waiting for Python's lock (GIL)",
    "gc": "in Python's garbage collector",
    "no_cpu": "waiting for a CPU",
    "blocked": "blocked",
    "running": "running",
}

DELAY_SHARED_OUT: Final = "an estimate: what its threads waited for a CPU, divided among their stages by CPU time"
"""Where a stage's waiting for a CPU comes from: `occupancy`."""

RUNNING_WORTH_A_WORD: Final = 0.01
"""Little of it is said, too: with it the shares are the whole."""


def limit_text(limits: Limits) -> str:
    """Who was held up by what in a part of the time, the largest limit first, what of it ran, and what the shares are
    estimated from; "" without any.

    Samples are few beside CPU times, which the stages have: the first share by samples says how far off it may be.
    """
    if not any(_worth_a_word(limits, side) for side in limits.sides):
        return ""
    mine = _words(limits, limits.training)
    waited = limits.awaited_ns >= LIMIT_WORTH_A_WORD * limits.whole_ns
    if waited:
        share = percent(limits.awaited_ns / max(1, limits.whole_ns))
        mine.append(f"waiting for DataLoader workers to build its batch for {share}")
    mine[0] = _of_it(mine[0])
    theirs = _words(limits, limits.workers) if waited and limits.workers is not None else []
    said = f"the training thread was {', '.join(mine)}"
    if not theirs or limits.workers is None:
        return f"{said}, from {plural(limits.training.samples, 'sample')} of its state"
    samples = f"from {plural(limits.training.samples, 'sample')} of the training thread"
    return f"{said}: these were {', '.join(theirs)}, {samples} and {limits.workers.samples:,} of theirs"


def _of_it(words: str) -> str:
    """The first share says what all of them are of."""
    share, interval, rest = words.partition(" (95%")
    return f"{share} of it{interval}{rest}"


def _worth_a_word(limits: Limits, side: Side) -> list[tuple[str, int]]:
    """The largest first."""
    times = {"gil": side.gil_ns or 0, "gc": side.gc_ns, "no_cpu": side.no_cpu_ns, "blocked": side.blocked_ns}
    least = max(1, LIMIT_WORTH_A_WORD * limits.whole_ns)
    return sorted((part for part in times.items() if part[1] >= least), key=lambda part: -part[1])


def _words(limits: Limits, side: Side) -> list[str]:
    parts, whole = _worth_a_word(limits, side), max(1, limits.whole_ns)
    if side.running_ns >= RUNNING_WORTH_A_WORD * whole:
        parts.append(("running", side.running_ns))
    words = [f"{NAMES[name]} for {percent(time / whole)}" for name, time in parts]
    is_measured = [name == "gc" and side is limits.training for name, _ in parts]
    if False in is_measured:
        place = is_measured.index(False)
        words[place] += _interval(min(limits.training.samples, side.samples), parts[place][1] / whole)
    return words


def _interval(samples: int, share: float) -> str:
    """Of a share by samples, Wilson's."""
    if not samples:
        return ""
    found = estimate(np.ones(samples), np.full(samples, min(1.0, share)))
    return f" (95% interval {percent(found.low)} to {percent(found.high)})"
