"""Captures of one host: it has one clock, so what lies apart in time is not of the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
            "They are not of the same steps, so nothing is joined. Capture all ranks again, at the same time"
        )


def share_clock(first: RankTable, other: RankTable) -> bool:
    return bool(first.host) and first.host == other.host


def from_first_ns(first: RankTable, other: RankTable) -> int:
    """What is added to `other`'s times for the time of `first`, by the clocks of their machines."""
    apart = other.origin_unix_ns - first.origin_unix_ns
    return apart if abs(apart) < FARTHEST_NS else 0


def lie_apart(tables: Sequence[RankTable]) -> Apart | None:
    """The two captures of one host that lie farthest apart; None where all of a host overlap."""
    by_host: dict[str, list[RankTable]] = {}
    for table in tables:
        if table.host and len(table.collectives):
            by_host.setdefault(table.host, []).append(table)
    found = [gap for same in by_host.values() if (gap := _farthest(same)).gap_ns > 0]
    return max(found, key=lambda gap: gap.gap_ns, default=None)


def _farthest(tables: Sequence[RankTable]) -> Apart:
    """The capture that ends first and the one that begins last; they overlap where the gap is negative."""
    offset = [from_first_ns(tables[0], table) for table in tables]
    begins = [int(table.collectives.arrival_ns.min()) + ns for table, ns in zip(tables, offset, strict=True)]
    ends = [int(table.collectives.end_ns.max()) + ns for table, ns in zip(tables, offset, strict=True)]
    earlier, later = ends.index(min(ends)), begins.index(max(begins))
    return Apart(tables[0].host, tables[earlier].rank, tables[later].rank, begins[later] - ends[earlier])
