"""The ranks of one run together: a row per rank, a row per owner of lost time, one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.ranks.apart import Apart, lie_apart
from tb_dataplugin.ranks.clocks import Clock, find_clocks, on_one_clock
from tb_dataplugin.ranks.joining import Joined, join
from tb_dataplugin.ranks.lost import LostTime, find_lost_time
from tb_dataplugin.ranks.pattern import Pattern, find_patterns
from tb_dataplugin.ranks.table import RankTable
from tb_dataplugin.ranks.waste import Waste, find_waste

LEAST_LOST: Final = 0.005
"""Share of a run's time; owners of less are left out."""


@dataclass(frozen=True, slots=True)
class RankRow:
    """Means per step, and what the rank lost to others in the whole of the common time. `steps`: how many there are.
    `owned_us`: what others lost waiting for it, mostly by `cause`.
    """

    rank: int
    host: str
    capture: str
    steps: int
    step_us: float | None
    data_wait_us: float | None
    inherited_us: float
    lock_share: float | None = None
    exposed_us: float | None = None
    owned_us: float = 0.0
    cause: str = ""


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """`cause`: a stage, ``host`` or ``compute``. `times_others`: how much longer a span of that stage takes in this
    rank than in the median of the others, None where it is not known.
    """

    rank: int
    host: str
    cause: str
    lost_us: float
    pattern: Pattern
    times_others: float | None


@dataclass(frozen=True, slots=True)
class RunOfRanks:
    """`whole_us`: rank time, the common stretch times the ranks. `missing`: ranks without a capture. `notes`: what
    could not be known, in sentences. `joined_by`: what tells one collective from another. `apart`: captures that cannot
    be of the same steps, so that nothing is joined.
    """

    name: str
    rows: tuple[RankRow, ...]
    owners: tuple[OwnerRow, ...]
    clocks: tuple[Clock, ...]
    waste: tuple[Waste, ...]
    collectives: int
    joined_by: str
    whole_us: float
    missing: tuple[int, ...]
    notes: tuple[str, ...]
    apart: Apart | None = None

    @property
    def lost_us(self) -> float:
        return sum(row.inherited_us for row in self.rows)

    @property
    def lost_share(self) -> float:
        return self.lost_us / self.whole_us if self.whole_us else 0.0

    def share_of(self, owner: OwnerRow) -> float | None:
        return owner.lost_us / self.whole_us if self.whole_us else None


def summarise(name: str, tables: Sequence[RankTable], notes: Sequence[str] = ()) -> RunOfRanks:
    """`tables`: one per rank, at least one."""
    tables = sorted(tables, key=lambda table: table.rank)
    joined = join(tables)
    clocks = find_clocks(tables, joined)
    joined = on_one_clock(joined, clocks)
    lost = find_lost_time(tables, joined)
    patterns = find_patterns(joined, lost, len(tables))
    missing = _missing(tables)
    owners = _owners(tables, lost, patterns)
    rows = [_row(table, joined, number, int(lost.inherited_ns[number])) for number, table in enumerate(tables)]
    return RunOfRanks(
        name=name,
        rows=tuple(_with_owned(row, owners) for row in rows),
        owners=owners,
        clocks=clocks,
        waste=find_waste(tables),
        collectives=int(lost.counted.sum()),
        joined_by=joined.by,
        whole_us=_whole_ns(joined, lost) / 1e3,
        missing=missing,
        notes=(*notes, *_notes(tables, joined, clocks, missing)),
        apart=lie_apart(tables),
    )


def _row(table: RankTable, joined: Joined, number: int, inherited_ns: int) -> RankRow:
    common = np.unique(joined.step[joined.takes_part[number]])
    rows = (
        np.isin(table.step_number, common) if (common >= 0).any() else np.ones(len(table.step_number), dtype=np.bool_)
    )
    length = (table.step_end_ns - table.step_start_ns)[rows]
    waits = None if table.step_wait_ns is None else table.step_wait_ns[rows]
    exposed = None if table.step_exposed_ns is None else table.step_exposed_ns[rows]
    return RankRow(
        rank=table.rank,
        host=table.host,
        capture=table.capture,
        steps=len(length),
        step_us=_mean_us(length),
        data_wait_us=None if waits is None else _mean_us(waits),
        inherited_us=inherited_ns / 1e3,
        lock_share=table.lock_share,
        exposed_us=None if exposed is None else _mean_us(exposed),
    )


def _with_owned(row: RankRow, owners: Sequence[OwnerRow]) -> RankRow:
    owned = [owner for owner in owners if owner.rank == row.rank]
    return replace(row, owned_us=sum(owner.lost_us for owner in owned), cause=owned[0].cause if owned else "")


def _mean_us(values: Int64Array) -> float | None:
    return float(values.mean()) / 1e3 if len(values) else None


def _owners(tables: Sequence[RankTable], lost: LostTime, patterns: Sequence[Pattern]) -> tuple[OwnerRow, ...]:
    rows = []
    for (owner, cause), ns in lost.by_owner().items():
        own, times = tables[owner], _times_others(tables, owner, cause)
        rows.append(OwnerRow(own.rank, own.host, cause, ns / 1e3, patterns[owner], times))
    return tuple(rows)


def _times_others(tables: Sequence[RankTable], owner: int, stage: str) -> float | None:
    own = tables[owner].stage_mean_ns.get(stage)
    means = [table.stage_mean_ns.get(stage) for table in tables]
    others = [mean for number, mean in enumerate(means) if mean is not None and number != owner]
    usual = float(np.median(others)) if others else 0.0
    return own / usual if own and usual else None


def _whole_ns(joined: Joined, lost: LostTime) -> int:
    """From the first counted collective's end to the last one's, for each rank that took part."""
    total = 0
    for rank in range(len(joined.row)):
        here = joined.takes_part[rank]
        counted = np.flatnonzero(here & lost.counted)
        if len(counted):
            before = np.flatnonzero(here[: counted[0]])
            start = joined.end_ns[rank, before[-1]] if len(before) else joined.arrival_ns[rank, counted[0]]
            total += int(joined.end_ns[rank, counted[-1]] - start)
    return total


def _missing(tables: Sequence[RankTable]) -> tuple[int, ...]:
    size = max((table.world_size or 0 for table in tables), default=0)
    return tuple(sorted(set(range(min(size, 65_536))) - {table.rank for table in tables}))


def _notes(
    tables: Sequence[RankTable], joined: Joined, clocks: Sequence[Clock], missing: Sequence[int]
) -> tuple[str, ...]:
    notes = []
    if missing:
        some = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        whose = f"Rank {some} has" if len(missing) == 1 else f"Ranks {some} have"
        notes.append(f"{whose} no usable capture: time lost there is not counted; capture all ranks to see it.")
    if len(tables) > 1 and not len(joined) and not lie_apart(tables):
        notes.append(
            "The captures have no collective in common: their windows are of different steps; capture the same steps "
            "on all ranks, with the same wait, warmup and active."
        )
    unknown = [str(clock.rank) for clock in clocks if not clock.is_known]
    if unknown and len(joined):
        notes.append(
            f"Too few common collectives to compare the clock of rank {', '.join(unknown)} with that of rank "
            f"{clocks[0].rank}: its arrivals are by the clock of its host."
        )
    if joined.by == "order" and len(joined):
        notes.append(
            "Collectives are matched by their order alone, as neither their numbers nor steps are in all of the "
            "captures: where a capture lacks one, those after it are matched wrongly."
        )
    if joined.uneven and len(joined):
        notes.append(_unevenness(joined))
    if joined.by == "step" and max(len(table.groups) for table in tables) > 1:
        notes.append("Collectives do not say their process group: all of them count as those of all ranks.")
    return tuple(notes)


def _unevenness(joined: Joined) -> str:
    if np.isin(joined.step, joined.uneven).any():
        return (
            "Ranks have different numbers of collectives in half of the steps or more: where a rank lacks one, those "
            "after it in the step are matched wrongly."
        )
    some = ", ".join(map(str, joined.uneven[:8])) + (", ..." if len(joined.uneven) > 8 else "")
    steps = f"step {some}" if len(joined.uneven) == 1 else f"steps {some}"
    return f"Ranks have different numbers of collectives in {steps}: time lost there is not counted."
