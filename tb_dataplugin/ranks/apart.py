"""Captures of one host: it has one clock, so what lies apart in time is not of the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from tb_dataplugin.ranks.table import RankTable
from tb_dataplugin.units import duration

SAME_CLOCK_NS: Final = 5_000_000
"""What ranks of one host differ by less than this is the network's doing, and no difference of clocks."""

FARTHEST_NS: Final = 10**18
"""Clocks that differ by more (30 years) show no time at all."""


@dataclass(frozen=True, slots=True)
class Apart:
    """`later` began its first collective `gap_ns` after `earlier` had left its last one."""

    host: str
    earlier: int
    later: int
    gap_ns: int

    @property
    def sentence(self) -> str:
        return (
            f"the captures of rank {self.earlier} and rank {self.later}, both of host {self.host}, do not overlap in "
            f"time: rank {self.later}'s begins {duration(self.gap_ns / 1e3)} after rank {self.earlier}'s has ended. "
            "They are not of the same steps, so nothing is joined. Capture all ranks anew, at once"
        )


def share_clock(first: RankTable, other: RankTable) -> bool:
    return bool(first.host) and first.host == other.host


def from_first_ns(first: RankTable, other: RankTable) -> int:
    """What is added to `other`'s times for the time of `first`, by the clocks of their machines."""
    apart = other.origin_unix_ns - first.origin_unix_ns
    return apart if abs(apart) < FARTHEST_NS else 0


def lie_apart(tables: Sequence[RankTable]) -> Apart | None:
    """The two captures of one host that lie farthest apart; None where all of a host overlap."""
    found = [gap for pair in combinations(tables, 2) if share_clock(*pair) and (gap := _gap(*pair))]
    return max(found, key=lambda gap: gap.gap_ns, default=None)


def _gap(first: RankTable, other: RankTable) -> Apart | None:
    offset = from_first_ns(first, other)
    began, ended = (int(first.collectives.arrival_ns.min()), int(first.collectives.end_ns.max()))
    other_began, other_ended = (
        int(other.collectives.arrival_ns.min()) + offset,
        int(other.collectives.end_ns.max()) + offset,
    )
    if other_began > ended:
        return Apart(first.host, first.rank, other.rank, other_began - ended)
    if began > other_ended:
        return Apart(first.host, other.rank, first.rank, began - other_ended)
    return None
