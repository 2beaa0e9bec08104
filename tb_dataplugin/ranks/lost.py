"""Who loses time in collectives, whose doing it is, and why that rank was late.

A rank that has joined a collective loses the time until the last one comes: each moment of each rank counts once, for
the collective that it joined first. It is owned by the rank that came last. Why it came last: what it did since all had
left a collective together, and in excess of the other ranks' median. Excess data wait goes to the stages that take
longer in that rank than in others, where there are any: whoever waits for data waits for all stages, and most of them
are as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.ranks.joining import ABSENT, Joined
from tb_dataplugin.ranks.table import COMPUTE, HOST, RankTable

Floats = npt.NDArray[np.float64]

LEAST_EXPLAINED: Final = 0.1
"""Share of the excess data wait; where slower stages explain less of it, they are not why (but fewer workers, say)."""

OTHER_GROUP: Final = "comm"
"""Waiting for ranks of another process group: passed on to whoever was last there."""


@dataclass(frozen=True, slots=True)
class LostTime:
    """Per collective (columns of `Joined`): `owner`, the row of the rank that came last, and what each rank (rows) lost
    by that. `shares_ns`: per collective, (owner's row, cause) and how much of the loss it caused; they sum to the loss.
    `counted`: from the first collective on before which all ranks were seen to leave one together.
    """

    owner: Int64Array
    lost_ns: Int64Array
    shares_ns: tuple[dict[tuple[int, str], float], ...]
    counted: npt.NDArray[np.bool_]

    @property
    def inherited_ns(self) -> Int64Array:
        """Per rank."""
        return int64(self.lost_ns.sum(axis=1))

    @property
    def total_ns(self) -> int:
        return int(self.lost_ns.sum())

    def by_owner(self) -> dict[tuple[int, str], float]:
        """Rank-nanoseconds by the owner's row and cause, the largest first."""
        total: dict[tuple[int, str], float] = {}
        for shares in self.shares_ns:
            for key, lost in shares.items():
                total[key] = total.get(key, 0.0) + lost
        return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def find_lost_time(tables: Sequence[RankTable], joined: Joined) -> LostTime:
    """`joined`: on one clock."""
    here = joined.takes_part
    arrival = np.where(here, joined.arrival_ns, np.iinfo(np.int64).min)
    owner = int64(arrival.argmax(axis=0)) if len(joined) else np.zeros(0, dtype=np.int64)
    since = _last_together(joined)
    counted = since >= 0
    lost = _lost(joined, arrival.max(axis=0, initial=np.iinfo(np.int64).min), counted)
    causes = _Causes(tables, joined, lost)
    shares = tuple(
        causes.of(number, int(owner[number]), int(since[number])) if lost[:, number].any() else {}
        for number in range(len(joined))
    )
    return LostTime(owner, lost, shares, counted)


def _lost(joined: Joined, last: Int64Array, counted: npt.NDArray[np.bool_]) -> Int64Array:
    """Per rank and collective, from its arrival to the last one's, or until it left; no moment twice."""
    lost = np.zeros(joined.row.shape, dtype=np.int64)
    for rank in range(len(lost)):
        columns = np.flatnonzero(joined.takes_part[rank] & counted)
        columns = columns[np.argsort(joined.arrival_ns[rank][columns], kind="stable")]
        if not len(columns):
            continue
        start = joined.arrival_ns[rank][columns]
        stop = np.maximum(start, np.minimum(last[columns], joined.end_ns[rank][columns]))
        reached = np.concatenate((start[:1], np.maximum.accumulate(stop)[:-1]))
        lost[rank][columns] = np.maximum(0, stop - np.maximum(start, reached))
    return lost


def _last_together(joined: Joined) -> Int64Array:
    """Per collective, the latest one of at least the same ranks that all of them had left before they joined it; -1
    without any.
    """
    since = np.full(len(joined), -1, dtype=np.int64)
    here = joined.takes_part
    for number in range(len(joined)):
        ranks = np.flatnonzero(here[:, number])
        joins = joined.arrival_ns[ranks, number]
        for before in range(number - 1, -1, -1):
            if here[ranks, before].all() and (joined.end_ns[ranks, before] <= joins).all():
                since[number] = before
                break
            if number - before > 64:
                break
    return since


class _Causes:
    """Asked collective by collective, in order: what is passed on is known by then."""

    def __init__(self, tables: Sequence[RankTable], joined: Joined, lost: Int64Array) -> None:
        self._joined, self._lost = joined, lost
        self._parts = list(dict.fromkeys(part for table in tables for part in table.parts))
        rows = list(zip(tables, joined.row, strict=True))
        self._at_arrival = np.stack([_spread(table.spent_at_arrival, table, self._parts, row) for table, row in rows])
        self._at_end = np.stack([_spread(table.spent_at_end, table, self._parts, row) for table, row in rows])
        self._means = np.array([[table.stage_mean_ns.get(part, np.nan) for part in self._parts] for table in tables])
        self._slower: dict[int, Floats] = {}
        self._known: dict[int, dict[tuple[int, str], float]] = {}

    def of(self, number: int, owner: int, since: int) -> dict[tuple[int, str], float]:
        """The loss at this collective by owner and cause."""
        self._known[number] = found = self._divided(number, owner, since)
        return found

    def _divided(self, number: int, owner: int, since: int) -> dict[tuple[int, str], float]:
        total = float(self._lost[:, number].sum())
        ranks = np.flatnonzero(self._joined.takes_part[:, number])
        spent = self._spent(ranks, number, since)
        is_owner = ranks == owner
        excess = np.maximum(0.0, spent[is_owner][0] - np.median(spent[~is_owner], axis=0))
        excess = self._by_slower_stages(owner, excess)
        if not excess.any():
            return {(owner, HOST): total}
        names = [*self._parts, OTHER_GROUP, HOST]
        shares = {name: total * float(part / excess.sum()) for name, part in zip(names, excess, strict=True) if part}
        passed_on = shares.pop(OTHER_GROUP, 0.0)
        found = {(owner, name): share for name, share in shares.items()}
        for key, share in self._passed_on(owner, number, since, passed_on).items():
            found[key] = found.get(key, 0.0) + share
        return found

    def _by_slower_stages(self, owner: int, excess: Floats) -> Floats:
        """The same, with the sum of what is data wait divided anew."""
        is_wait = np.array([part != COMPUTE for part in self._parts] + [False, False])
        if owner not in self._slower:
            self._slower[owner] = np.append(_slower(self._means, owner), [0.0, 0.0])
        weighed = excess * self._slower[owner]
        whole, explained = float(excess[is_wait].sum()), float(weighed[is_wait].sum())
        if explained < LEAST_EXPLAINED * whole or not whole:
            return excess
        return np.where(is_wait, weighed * (whole / explained), excess)

    def _spent(self, ranks: npt.NDArray[np.intp], number: int, since: int) -> Floats:
        """Per rank (rows) the time of each part, lost in other collectives, and the host's own, between leaving `since`
        and joining.
        """
        parts = (self._at_arrival[ranks, number] - self._at_end[ranks, since]).astype(np.float64)
        whole = self._joined.arrival_ns[ranks, number] - self._joined.end_ns[ranks, since]
        waited = self._lost[ranks, since + 1 : number].sum(axis=1)
        rest = np.maximum(0.0, whole - parts.sum(axis=1) - waited)
        return np.concatenate((parts, waited[:, None], rest[:, None]), axis=1)

    def _passed_on(self, owner: int, number: int, since: int, total: float) -> dict[tuple[int, str], float]:
        """What the owner itself lost meanwhile, to those who own that."""
        found: dict[tuple[int, str], float] = {}
        lost = self._lost[owner, since + 1 : number].astype(np.float64)
        for place in np.flatnonzero(lost).tolist() if total else ():
            share = self._shares_at(since + 1 + place)
            for key, part in share.items():
                found[key] = found.get(key, 0.0) + total * float(lost[place] / lost.sum()) * part
        return found

    def _shares_at(self, number: int) -> dict[tuple[int, str], float]:
        known = self._known.get(number, {})
        return {key: lost / sum(known.values()) for key, lost in known.items()}


def _slower(means: Floats, owner: int) -> Floats:
    """Per part (columns), the share of its time that it takes longer in the owner (rows) than in the others' median; 1
    where spans of it are not known in both.
    """
    shares = np.ones(means.shape[1])
    others = np.delete(means, owner, axis=0)
    known = np.flatnonzero((means[owner] > 0) & ~np.isnan(others).all(axis=0))
    shares[known] = np.maximum(0.0, 1 - np.nanmedian(others[:, known], axis=0) / means[owner, known])
    return shares


def _spread(spent: Int64Array, table: RankTable, names: Sequence[str], row: Int64Array) -> Int64Array:
    """Those of the joined collectives, its columns at their places among `names`; 0 where the rank took no part."""
    columns = np.zeros((len(row), len(names)), dtype=np.int64)
    here = np.flatnonzero(row != ABSENT)
    for place, part in enumerate(table.parts):
        columns[here, names.index(part)] = spent[row[here], place]
    return columns
