"""Whether the rank that comes last stays the same: this host, this shard; or changes: nobody is fast enough. Of a few
steps nobody can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Final, Literal

import numpy as np

from tb_dataplugin.model.intervals import int64
from tb_dataplugin.ranks.joining import Joined
from tb_dataplugin.ranks.lost import LostTime

Pattern = Literal["fixed", "roaming", "unclear"]

FIXED_TIMES: Final = 1.5
"""A fixed rank owns at least so many times what an even share of the loss would be."""

BY_CHANCE: Final = 0.025
"""And is last in more steps than chance has it: as often or more often with this probability at most."""


def find_patterns(joined: Joined, lost: LostTime, ranks: int) -> tuple[Pattern, ...]:
    """Per rank."""
    by_rank = np.zeros(ranks)
    np.add.at(by_rank, lost.owner, lost.lost_ns.sum(axis=0))
    steps = _main_owners(joined, lost, ranks)
    return tuple(_pattern(float(by_rank[rank]), float(by_rank.sum()), rank, steps, ranks) for rank in range(ranks))


def _pattern(own: float, whole: float, rank: int, main_owners: Sequence[int], ranks: int) -> Pattern:
    count, chance = len(main_owners), 1 / ranks
    times = sum(owner == rank for owner in main_owners)
    is_large = bool(whole) and own / whole >= FIXED_TIMES * chance
    if is_large and _probability(times, count, chance) <= BY_CHANCE:
        return "fixed"
    could_show = _probability(count, count, chance) <= BY_CHANCE
    return "roaming" if could_show and not is_large else "unclear"


def _probability(times: int, count: int, chance: float) -> float:
    """That what happens with `chance` happens at least so many `times` of `count`."""
    return sum(comb(count, n) * chance**n * (1 - chance) ** (count - n) for n in range(times, count + 1))


def _main_owners(joined: Joined, lost: LostTime, ranks: int) -> list[int]:
    """Per step with any loss, the rank that owns most of it; where steps have no numbers, per collective."""
    has_steps = bool((joined.step >= 0).any())
    unit = joined.step if has_steps else np.arange(len(joined))
    total = lost.lost_ns.sum(axis=0)
    numbers, place = np.unique(unit, return_inverse=True)
    owned = np.zeros((len(numbers), ranks))
    np.add.at(owned, (place, int64(lost.owner)), total)
    return [int(row.argmax()) for row in owned if row.any()]
