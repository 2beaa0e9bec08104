"""Changes beside the unchanged loop, pair by pair, until the pairs agree on how much longer or shorter its step is.

How many pairs it takes follows from how far they differ, never from what was predicted.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Final

from tb_dataplugin.compare import student

UNCHANGED: Final = ""
LEAST: Final = 3
MOST: Final = 6
"""Pairs."""

ENOUGH: Final = 0.08
"""Half of the 95% interval of the ratio: well below the error that nine in ten predictions may have (20%)."""

Pairs = list[tuple[float, float]]
"""Of the unchanged and of the changed loop, milliseconds per step."""


def measured_pairs(window: Callable[[str], float], changes: Sequence[str], most: int = MOST) -> dict[str, Pairs]:
    """The changes share the windows of the unchanged loop, so there should be few; every second round is reversed."""
    pairs: dict[str, Pairs] = {change: [] for change in changes}
    for number in range(most):
        asked = [change for change in changes if is_open(pairs[change])]
        if not asked:
            break
        times = {change: window(change) for change in (UNCHANGED, *asked)[:: -1 if number % 2 else 1]}
        for change in asked:
            pairs[change].append((times[UNCHANGED], times[change]))
    return pairs


def is_open(pairs: Pairs) -> bool:
    return len(pairs) < LEAST or half_width(pairs) > ENOUGH


def ratio(pairs: Pairs) -> float:
    """Of the changed over the unchanged loop's step."""
    return math.exp(statistics.fmean(_logs(pairs)))


def half_width(pairs: Pairs) -> float:
    """Of its 95% interval (Student), relative."""
    logs = _logs(pairs)
    return student.critical(0.05, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))


def _logs(pairs: Pairs) -> list[float]:
    return [math.log(after / before) for before, after in pairs]
