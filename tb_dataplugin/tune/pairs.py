"""Whether one setting beats another: windows of both, by turns, as pairs.

The two windows of a pair stand next to each other, and which comes first changes with each pair, so that a machine that
gets slower hits both. The pairs are looked at up to three times (`LOOKS`), and measuring stops where they decide;
each look has a third of the 5% that an interval may miss, so that all looks together miss no more.

Each window has new DataLoader workers, so their luck shows in the scatter of the pairs. The luck of the process that
iterates lasts for all its windows, and is assumed (`_luck`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.compare import student
from tb_dataplugin.compare.noise import BELIEF, TIME_LUCK

LOOKS: Final = (3, 5, 8)
"""Numbers of pairs."""

MISSED: Final = 0.05
"""What intervals miss, all looks together."""

WORKERS_LUCK: Final = 0.01
"""Standard deviation (relative) of equal loops over processes, where DataLoader workers build the batches: what is left
to the process that iterates. Without workers it is `TIME_LUCK`."""

SAME: Final = 0.02
"""Differences below this are not worth another setting."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Step time of the changed loop over that of the other, and the ends of its 95% interval.

    `scatter`: standard deviation of one pair (relative).
    """

    value: float
    low: float
    high: float
    pairs: int
    scatter: float = 0.0

    @property
    def is_faster(self) -> bool:
        return self.high < 1

    @property
    def is_slower(self) -> bool:
        return self.low > 1

    @property
    def is_same(self) -> bool:
        return self.low > 1 - SAME and self.high < 1 + SAME


def ratio_of(logs: Sequence[float], in_process: bool) -> Ratio:
    """
    Args:
        logs: of each pair, the logarithm of the changed loop's step time over the other's; at least two.
        in_process: one of the loops has no DataLoader workers.
    """
    count, scatter, mean = len(logs), statistics.stdev(logs), statistics.fmean(logs)
    reach = reach_of(scatter, count, in_process)
    return Ratio(math.exp(mean), math.exp(mean - reach), math.exp(min(mean + reach, 700.0)), count, scatter)


def reach_of(scatter: float, count: int, in_process: bool) -> float:
    """Half of the interval (logarithm) of so many pairs that scatter so: a smaller difference is not seen."""
    of_pairs, luck = scatter**2 / count, 2 * _luck(in_process) ** 2
    freedom = (of_pairs + luck) ** 2 / (of_pairs**2 / (count - 1) + luck**2 / BELIEF)
    return student.critical(MISSED / len(LOOKS), freedom) * math.sqrt(of_pairs + luck)


def _luck(in_process: bool) -> float:
    return TIME_LUCK if in_process else WORKERS_LUCK


def is_decided(ratio: Ratio) -> bool:
    """Further pairs would not change what is done."""
    return ratio.is_faster or ratio.is_slower or ratio.is_same
