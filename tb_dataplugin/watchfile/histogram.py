"""Histograms of times, as annotate's `tally` counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

_PER_OCTAVE: Final = 4
"""Buckets while the time doubles, as in annotate's `tally`."""


def total_times(histograms: Iterable[dict[str, int]]) -> dict[int, int]:
    total: Counter[int] = Counter()
    for histogram in histograms:
        for bucket, count in histogram.items():
            total[int(bucket)] += count
    return total


def percentile(histogram: dict[int, int], share: float) -> float:
    """Microseconds, within 9%: the middle of the bucket that it falls into. 0 for none."""
    left = share * sum(histogram.values())
    for bucket, count in sorted(histogram.items()):
        left -= count
        if left <= 0:
            return float(2 ** ((bucket - 0.5) / _PER_OCTAVE))
    return 0.0
