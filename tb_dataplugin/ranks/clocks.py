"""How far the clocks of ranks are apart, by the collectives that nobody can leave before all have come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.model.intervals import int64
from tb_dataplugin.ranks.apart import SAME_CLOCK_NS, share_clock
from tb_dataplugin.ranks.joining import Joined
from tb_dataplugin.ranks.table import RankTable

LEAST_COMMON: Final = 3
"""Collectives; a median of fewer proves nothing."""

_NORMAL, _INTERVAL, _OF_MEDIAN = 1.4826, 1.96, 1.2533
"""Standard deviation by median deviation; standard errors in a 95% interval; error of a median by that of a mean."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`ahead_ns`: how much later this rank's clock is than the first rank's, give or take `error_ns` (95%).

    `is_known`: False where it had too few collectives in common with others. `is_applied`: its times were shifted.
    """

    rank: int
    ahead_ns: int
    error_ns: int
    is_known: bool = True
    is_applied: bool = False


def find_clocks(tables: Sequence[RankTable], joined: Joined) -> tuple[Clock, ...]:
    """In the order of `tables`; the first is the reference."""
    clocks = {0: Clock(tables[0].rank, 0, 0)}
    waiting = list(range(1, len(tables)))
    while waiting:
        found = {number: clock for number in waiting if (clock := _against(tables, joined, clocks, number))}
        if not found:
            break
        clocks |= found
        waiting = [number for number in waiting if number not in found]
    clocks |= {number: Clock(tables[number].rank, 0, 0, is_known=False) for number in waiting}
    return tuple(clocks[number] for number in range(len(tables)))


def _against(tables: Sequence[RankTable], joined: Joined, clocks: dict[int, Clock], number: int) -> Clock | None:
    """By those whose clock is known already; None where it has too little in common with each."""
    for other, clock in clocks.items():
        both = joined.takes_part[number] & joined.takes_part[other] & joined.is_symmetric
        if int(both.sum()) < LEAST_COMMON:
            continue
        apart = joined.end_ns[number][both] - joined.end_ns[other][both]
        middle = float(np.median(apart))
        spread = _NORMAL * float(np.median(np.abs(apart - middle)))
        error = round(_INTERVAL * _OF_MEDIAN * spread / np.sqrt(len(apart))) + clock.error_ns
        ahead = round(middle) + clock.ahead_ns
        is_moved = joined.by != "order" and abs(ahead) > max(SAME_CLOCK_NS, 3 * error)
        applied = is_moved or not share_clock(tables[0], tables[number])
        return Clock(tables[number].rank, ahead if applied else 0, error, is_applied=applied)
    return None


def on_one_clock(joined: Joined, clocks: Sequence[Clock]) -> Joined:
    """The same collectives, all times on the first rank's clock, and in their order there."""
    ahead = int64([clock.ahead_ns for clock in clocks])[:, None]
    end = joined.end_ns - ahead
    last = np.where(joined.takes_part, end, np.iinfo(np.int64).min).max(axis=0, initial=np.iinfo(np.int64).min)
    order = np.argsort(last, kind="stable")
    return replace(
        joined,
        row=joined.row[:, order],
        arrival_ns=(joined.arrival_ns - ahead)[:, order],
        end_ns=end[:, order],
        step=joined.step[order],
        is_symmetric=joined.is_symmetric[order],
    )
