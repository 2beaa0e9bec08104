"""The same collective on every rank: which rows of their tables belong together.

By number and process group where torch writes them. Else by the step that called it, and its place among the step's
collectives: a step in which ranks have different numbers of them is left out, as places behind a missing one mean
different collectives, unless that is so in half of the steps or more (process groups that are not said, say). Else by
order alone: then the windows may begin at different collectives, and the shift is taken at which the ranks leave them
most evenly together; on one host, whose clock they share, at which they leave them at one time.
Captures of one host that lie apart in time are not joined at all (`apart`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.collectives import OPERATIONS, SYMMETRIC, Collectives, Numbered
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.ranks.apart import SAME_CLOCK_NS, from_first_ns, lie_apart, share_clock
from tb_dataplugin.ranks.table import RankTable

ABSENT: Final = -1
MOST_SHIFT: Final = 256
"""Collectives by which windows that are joined by order alone may differ."""

LEAST_OVERLAP: Final = 4


@dataclass(frozen=True, slots=True)
class Joined:
    """Collectives (columns) that all their ranks (rows) recorded, by when they ended. `row` is the row in the rank's
    own table, `ABSENT` where the rank is not in that process group. Times in ns on one clock, the first rank's.
    `uneven`: numbers of the steps in which ranks have different numbers of collectives, where steps tell them apart.
    """

    by: Numbered
    row: Int64Array
    arrival_ns: Int64Array
    end_ns: Int64Array
    step: Int64Array
    is_symmetric: npt.NDArray[np.bool_]
    uneven: tuple[int, ...] = ()

    @property
    def takes_part(self) -> npt.NDArray[np.bool_]:
        takes_part: npt.NDArray[np.bool_] = self.row != ABSENT
        return takes_part

    def __len__(self) -> int:
        return int(self.row.shape[1])


def join(tables: Sequence[RankTable]) -> Joined:
    """`tables`: one per rank. Times are still on the clocks of their machines."""
    by = _how(tables)
    if lie_apart(tables):
        return _ordered(tables, np.zeros((len(tables), 0), dtype=np.int64), by)
    keyed = [_keys(table, by) for table in tables]
    if by == "order":
        keyed = _shifted(tables, keyed)
    keyed, uneven = _without_uneven_steps(keyed) if by == "step" else (keyed, ())
    places = [{key: place for place, key in enumerate(keys) if key is not None} for keys in keyed]
    common = [key for key, ranks in _ranks_of(places).items() if len(ranks) > 1 and _all_there(tables, key, ranks, by)]
    row = int64([[place.get(key, ABSENT) for key in common] for place in places]).reshape(len(tables), len(common))
    return replace(_ordered(tables, row, by), uneven=uneven)


def _how(tables: Sequence[RankTable]) -> Numbered:
    if all((table.collectives.number >= 0).all() for table in tables):
        return "number"
    numbered = all(table.has_numbered_steps and (table.collectives.step >= 0).any() for table in tables)
    return "step" if numbered else "order"


def _keys(table: RankTable, by: Numbered) -> list[Hashable | None]:
    """Of each collective, the same on all ranks; None for one that cannot be joined."""
    rows = table.collectives
    names = [(rows.groups[group], int(kind)) for group, kind in zip(rows.group.tolist(), rows.operation, strict=True)]
    if by == "number":
        return [(*name, number) for name, number in zip(names, rows.number.tolist(), strict=True)]
    if by == "order":
        return [(*name, place) for place, name in enumerate(names)]
    seen: Counter[Hashable] = Counter()
    keys: list[Hashable | None] = [None] * len(rows)
    # All ranks call them in one order. Kernels of several streams may start in another one on each rank.
    for row in np.argsort(rows.called_ns, kind="stable").tolist():
        name, step = names[row], int(rows.step[row])
        if step >= 0:
            keys[row] = (*name, step, seen[name, step])
        seen[name, step] += 1
    return _without_torn_steps(rows, keys)


def _without_torn_steps(rows: Collectives, keys: list[Hashable | None]) -> list[Hashable | None]:
    """Without the first and the last step where they have fewer collectives than others: the window cut them."""
    steps, count = np.unique(rows.step[rows.step >= 0], return_counts=True)
    usual = int(np.median(count)) if len(count) else 0
    torn = {int(steps[place]) for place in (0, -1) if len(steps) > 2 and count[place] < usual}
    return [None if step in torn else key for key, step in zip(keys, rows.step.tolist(), strict=True)]


def _without_uneven_steps(
    keyed: list[list[Hashable | None]],
) -> tuple[list[list[Hashable | None]], tuple[int, ...]]:
    """Keys (group, operation, step, place), and the steps in which ranks that have both the step and such collectives
    at all have different numbers of them.
    """
    counts = [Counter(key[:3] for key in keys if isinstance(key, tuple)) for keys in keyed]
    names = [{key[:2] for key in count} for count in counts]
    steps = [{key[2] for key in count} for count in counts]
    uneven: set[int] = set()
    for key in {key for count in counts for key in count}:
        ranks = [rank for rank in range(len(counts)) if key[:2] in names[rank] and key[2] in steps[rank]]
        if len({counts[rank][key] for rank in ranks}) > 1:
            uneven.add(key[2])
    ordered = tuple(sorted(uneven))
    if 2 * len(uneven) >= len(set().union(*steps)):
        return keyed, ordered
    even = [[None if isinstance(key, tuple) and key[2] in uneven else key for key in keys] for keys in keyed]
    return even, ordered


def _shifted(tables: Sequence[RankTable], keyed: list[list[Hashable | None]]) -> list[list[Hashable | None]]:
    """Keys by order, counted from the same collective; none where no shift brings a rank together with the first."""
    shifts = [0, *(_best_shift(tables[0], table) for table in tables[1:])]
    return [
        [(key[0], key[1], key[2] + shift) if isinstance(key, tuple) and shift is not None else None for key in keys]
        for keys, shift in zip(keyed, shifts, strict=True)
    ]


def _best_shift(first: RankTable, other: RankTable) -> int | None:
    """How many collectives later `other` begins."""
    best, least = None, np.inf
    for shift in sorted(range(-MOST_SHIFT, MOST_SHIFT + 1), key=abs):
        distance = _distance_ns(first, other, shift)
        if distance is not None and distance < least * 0.9:
            best, least = shift, distance
    return best


def _distance_ns(first: RankTable, other: RankTable, shift: int) -> float | None:
    """How far from together the ranks leave their collectives; None where these are not the same ones."""
    mine, theirs = first.collectives, other.collectives
    begin, their_begin = max(0, shift), max(0, -shift)
    count = min(len(mine) - begin, len(theirs) - their_begin)
    if count < min(LEAST_OVERLAP, len(mine), len(theirs)):
        return None
    here, there = slice(begin, begin + count), slice(their_begin, their_begin + count)
    if (mine.operation[here] != theirs.operation[there]).any():
        return None
    offset = from_first_ns(first, other)
    apart = theirs.end_ns[there] + offset - mine.end_ns[here]
    if not share_clock(first, other):
        return float(np.median(np.abs(apart - np.median(apart))))
    last = np.maximum(mine.arrival_ns[here], theirs.arrival_ns[there] + offset)
    left = np.minimum(mine.end_ns[here], theirs.end_ns[there] + offset)
    return float(np.median(np.abs(apart))) if np.median(last - left) <= SAME_CLOCK_NS else None


def _ranks_of(places: Sequence[dict[Hashable, int]]) -> dict[Hashable, frozenset[int]]:
    ranks: dict[Hashable, set[int]] = {}
    for number, place in enumerate(places):
        for key in place:
            ranks.setdefault(key, set()).add(number)
    return {key: frozenset(numbers) for key, numbers in ranks.items()}


def _all_there(tables: Sequence[RankTable], key: Hashable, ranks: frozenset[int], by: Numbered) -> bool:
    """Whether all captured ranks of the key's process group have it; a group that is not said is all ranks."""
    group = key[0] if isinstance(key, tuple) else ""
    if not group:
        return len(ranks) == len(tables)
    members = next((one.ranks for one in tables[min(ranks)].groups if one.name == group and one.ranks), ())
    if not members:
        return len(ranks) == sum(group in table.collectives.groups for table in tables)
    return all(table.rank not in members or number in ranks for number, table in enumerate(tables))


def _ordered(tables: Sequence[RankTable], row: Int64Array, by: Numbered) -> Joined:
    shape = row.shape
    arrival, end = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    step, symmetric = np.full(shape[1], -1, dtype=np.int64), np.zeros(shape[1], dtype=np.bool_)
    is_symmetric = np.array([operation in SYMMETRIC for operation in OPERATIONS], dtype=np.bool_)
    for number, table in enumerate(tables):
        here, rows, apart = row[number] != ABSENT, table.collectives, from_first_ns(tables[0], table)
        mine = row[number][here]
        arrival[number][here], end[number][here] = rows.arrival_ns[mine] + apart, rows.end_ns[mine] + apart
        step[here] = np.maximum(step[here], rows.step[mine])
        symmetric[here] = is_symmetric[rows.operation[mine]]
    last = np.where(row != ABSENT, end, np.iinfo(np.int64).min).max(axis=0, initial=np.iinfo(np.int64).min)
    order = np.argsort(last, kind="stable")
    return Joined(by, row[:, order], arrival[:, order], end[:, order], step[order], symmetric[order])
