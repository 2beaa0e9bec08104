"""Steps that wait at regular distances.

The sawtooth: every N-th step waits, because N DataLoader workers have their batches ready at about the same time, or
the batches of one of them are finished last and hold back those of the others. Else a few steps, each so many after the
one before, have most of the data wait: there something takes long that the steps between live on (a file that holds
their samples). Which steps stand out is decided by their waits alone; that so many of so many steps lie at such
distances by chance has a probability, which is counted. One step in each epoch is none of these: an epoch begins with
nothing built ahead, so its length alone makes some of its steps wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Final

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.standing_out import standing_out
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64

LEAST_TEETH: Final = 3
"""Fewer steps that stand out may be chance."""

TOOTH_SHARE_OF_TWO: Final = 0.85
"""Share of the data wait that every other step has with two workers; half of it is every other step's by itself."""

TOOTH_SHARE: Final = 0.6
"""The same with more workers."""

LEAST_WAIT: Final = 0.02
"""Data wait as a share of the steps, below which it is noise, whatever its pattern."""

TOGETHER: Final = 0.5
"""Part of the time within which N workers that finish by turns, evenly over a round, finish one batch each, which is
(N - 1) / N of it: up to which they are nearer to finishing all at once.
"""

CHANCE: Final = 0.05
"""Probability up to which regular distances are not taken for chance: that of all intervals here."""

LONE_SHARE, LONE_TIMES = 1 / 3, 5
"""Share of the data wait that one step has, and how many times as long as others it waits, from which it is said: what
the means tell is mostly of that step."""


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """`period` is the number of workers where `of_workers`, `data_wait_ns` that of every `period`-th step, `share` its
    share of the data wait that is not told apart; `steps` are the numbers of these steps, of `count`. Without
    `of_workers` it is all of the steps that stand out.
    """

    period: int
    data_wait_ns: int
    share: float
    steps: tuple[int, ...]
    count: int
    is_partial: bool = False
    """Data wait that is told apart is left out of all of it."""
    of_workers: bool = True
    worker: int | None = None
    """The DataLoader worker that built all batches taken in these steps; None where several did, or it is not known."""
    slow: tuple[int, ...] = ()
    """Indices of samples, one of which is in the batch of each of these steps, drawn at random (`slow_rhythm`)."""
    together: bool | None = None
    """All workers finish their batches at about the same time; None where their batches are not known."""
    late: Late | None = None
    """Where `worker` is known, and its batch is finished last in most rounds, by more than chance."""
    turns: SlowTurns | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """In `count` of so many `rounds`, of one batch of each worker, the batch that the others wait behind is finished
    last: in the median `by_ns` after the last of the others.
    """

    count: int
    rounds: int
    by_ns: int


@dataclass(frozen=True, slots=True)
class SlowTurns:
    """Each `period`-th batch, `count` of them, has `slow_ns` of self time in a stage, on average, others `others_ns`.
    The period is a multiple of the number of workers, so that all of these come to one of them.
    """

    period: int
    count: int
    slow_ns: float
    others_ns: float
    stage: str = ""


@dataclass(frozen=True, slots=True)
class LoneWait:
    """One step (its number) that has much of the data wait that is not told apart."""

    step: int
    share: float
    is_partial: bool
    collected_ns: int = 0
    """In a long collection of garbage while a DataLoader worker built its batch; 0 where that is no reason."""


def find_lone_wait(table: StepTable) -> LoneWait | None:
    waits, rows = _waits(table), table.rows
    longest, whole = max(waits, default=0), sum(waits)
    others = (whole - longest) / max(1, len(waits) - 1)
    if len(waits) < 2 or longest < LONE_SHARE * whole or longest < LONE_TIMES * others:
        return None
    number = rows[waits.index(longest)].number
    return LoneWait(number, longest / whole, any(row.apart_ns for row in rows))


def find_sawtooth(table: StepTable, num_workers: int | None, unfinished: Intervals | None = None) -> Sawtooth | None:
    """None where one step in `num_workers` does not stand out, or only few of these do. What is told apart is no
    part of the pattern. `unfinished`: waits for batches while they were built, if that is known: where these steps
    wait for finished ones, their workers' pace is not why.
    """
    period = num_workers or 0
    rows = table.rows
    waits = _waits(table)
    whole = sum(waits)
    if period < 2 or len(rows) < LEAST_TEETH * period or not whole:
        return None
    phases = [sum(waits[phase::period]) for phase in range(period)]
    most = max(phases)
    if most < (TOOTH_SHARE_OF_TWO if period == 2 else TOOTH_SHARE) * whole or find_lone_wait(table) is not None:
        return None
    mean = whole / len(rows)
    places = range(phases.index(most), len(rows), period)
    standing_out = sum(waits[place] > mean for place in places)
    if 2 * standing_out < len(places) or standing_out < LEAST_TEETH:
        return None
    if unfinished is not None and 2 * _within(table, places, unfinished) < most:
        return None
    steps = tuple(rows[place].number for place in places)
    is_partial = any(row.apart_ns for row in rows)
    return Sawtooth(period, most, most / whole, steps, len(rows), is_partial)


def _within(table: StepTable, places: Sequence[int], waits: Intervals) -> int:
    """How long these waits are in the steps at those places."""
    begin = int64([table.rows[place].start_ns for place in places])
    length = int64([table.rows[place].duration_ns for place in places])
    return int(waits.overlap(begin, begin + length).sum())


def find_rhythm(table: StepTable) -> Sawtooth | None:
    """Steps at regular distances that have most of the data wait; None where chance may have put them there."""
    waits, rows = _waits(table), table.rows
    places = standing_out(waits)
    gaps = np.diff(places)
    if len(places) < 2 or 2 * len(places) >= len(rows) or gaps.max() - gaps.min() > 1:
        return None
    most, whole = sum(waits[place] for place in places), sum(waits)
    if 2 * most < whole or _chance(len(rows), len(places)) > CHANCE or not _fills(places, len(rows)):
        return None
    steps = tuple(rows[place].number for place in places)
    is_partial = any(row.apart_ns for row in rows)
    return Sawtooth(round(float(gaps.mean())), most, most / whole, steps, len(rows), is_partial, of_workers=False)


def with_batches(found: Sawtooth, table: StepTable, batches: BatchTimes, loader: int) -> Sawtooth:
    """With what the batches tell that are taken in these steps, and those after them."""
    rows = [row for row in table.rows if row.number in found.steps]
    begin = int64([row.start_ns for row in rows])
    end = int64([row.start_ns + row.duration_ns for row in rows])
    mine = batches.table.loader == loader
    order = np.lexsort((batches.table.number, batches.table.epoch))
    order = order[(mine & known(batches.table.finished_ns))[order]]
    taken_ns = batches.wait_end_ns[order]
    at = np.searchsorted(begin, taken_ns, side="right") - 1
    first = np.flatnonzero(known(taken_ns) & (at >= 0) & (taken_ns <= end[at]))
    workers = np.unique(batches.table.worker[order[first]]).tolist()
    worker = workers[0] if len(workers) == 1 else None
    places = first[first + found.period <= len(order)][:, None] + np.arange(found.period)
    whole = [len(np.unique(each)) == found.period for each in batches.table.worker[order[places]]]
    rounds = batches.table.finished_ns[order[places[np.array(whole, dtype=np.bool_)]]]
    if not found.of_workers or len(rounds) < 2:
        return replace(found, worker=worker, together=False)
    late = None if worker is None else _find_late(rounds)
    return replace(found, worker=worker, together=_finish_together(rounds), late=late)


def _finish_together(rounds: Int64Array) -> bool:
    """Whether rounds (a row each) are finished within a part of the time from one to the next, in the median."""
    workers = rounds.shape[1]
    cycle = np.median(np.diff(np.median(rounds, axis=1)))
    return bool(np.median(np.ptp(rounds, axis=1)) <= TOGETHER * (workers - 1) / workers * cycle)


def _find_late(rounds: Int64Array) -> Late | None:
    """Whether the first of each round is finished last more often than by chance, and in most of them."""
    count, workers = rounds.shape
    by_ns = rounds[:, 0] - rounds[:, 1:].max(axis=1)
    late = int((by_ns > 0).sum())
    chance = sum(comb(count, k) * (1 / workers) ** k * (1 - 1 / workers) ** (count - k) for k in range(late, count + 1))
    return Late(late, count, int(np.median(by_ns[by_ns > 0]))) if 2 * late > count and chance <= CHANCE else None


def is_once_an_epoch(found: Sawtooth, table: StepTable, starts: Intervals) -> bool:
    """Whether between each two of the steps that stand out one epoch starts; `starts`: waits of these starts."""
    begin = int64([row.start_ns for row in table.rows])
    has = starts.overlap(begin, begin + int64([row.duration_ns for row in table.rows])) > 0
    teeth = np.isin([row.number for row in table.rows], found.steps)
    begun = np.cumsum(has)[teeth]
    return len(begun) > 1 and bool((np.diff(begun) == 1).all())


def _waits(table: StepTable) -> list[int]:
    """Without what is told apart; empty where they are noise."""
    waits = [(row.data_wait_ns or 0) - row.apart_ns for row in table.rows]
    return waits if sum(waits) >= LEAST_WAIT * sum(row.duration_ns for row in table.rows) else []


def _fills(places: Sequence[int], count: int) -> bool:
    """There is no room for another one at such a distance, before the first or after the last."""
    most = int(np.diff(places).max())
    return places[0] < most and count - 1 - places[-1] < most


def _chance(count: int, few: int) -> float:
    """That so few of so many places, drawn at random, are at distances that differ by one at most and fill them."""
    found = 0
    for least in range(1, count // max(1, few - 1) + 1):
        for longer in range(few - 1):  # so many of the distances are by one longer
            most, length = least + (longer > 0), (few - 1) * least + longer
            starts = min(most, count - length) - max(0, count - length - most)
            found += comb(few - 1, longer) * max(0, starts)
    return found / comb(count, few)
