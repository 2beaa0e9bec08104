"""Parts of an iterable dataset of unequal size: DataLoader workers that deliver different numbers of batches per epoch.

Each worker has an iterator of its own. Where one is at its end the others go on without it, so that the last batches of
an epoch come from few of them, or from one alone. In order, batches are taken from the workers in turn: whoever has two
batches less than another one was at its end, also where it left nothing in the capture, as its process had ended.
Without order that is only known of a whole epoch, and of processes that had ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.workers import BatchTimes, Workers, rows_touched
from tb_dataplugin.limits import MOST_WORKERS
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import BatchTable

UNEQUAL: Final = 2
"""Batches by which parts differ: one is what the turns of equal parts leave."""


@dataclass(frozen=True, slots=True)
class EpochParts:
    """Of each worker, the rows of the batches that it delivered in an epoch, in order."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(map(len, self.rows))

    @property
    def batches(self) -> int:
        return sum(self.counts)

    @property
    def differ(self) -> bool:
        return max(self.counts) - min(self.counts) >= UNEQUAL


@dataclass(frozen=True, slots=True)
class Parts:
    """`workers`: their ids, in the order of `EpochParts.rows`. `build_ns`: what all of each one's batches took.
    `whole`: whole epochs of the window; else what the window has of the one with most batches in it.
    """

    workers: tuple[int, ...]
    epochs: tuple[EpochParts, ...]
    build_ns: tuple[float, ...]
    whole: bool

    @property
    def delivered(self) -> tuple[int, ...]:
        """Batches of each worker, in all of these epochs."""
        each = np.array([epoch.counts for epoch in self.epochs]).sum(axis=0)
        return tuple(each.tolist())

    @property
    def largest(self) -> int:
        """The worker that builds for longest: it is alone at the end, or nearly."""
        return self.workers[self._place]

    @property
    def largest_batches(self) -> int:
        """Of it, in all of these epochs."""
        return self.delivered[self._place]

    @property
    def batches(self) -> int:
        """Of all workers."""
        return sum(self.delivered)

    @property
    def without(self) -> int:
        """Workers that delivered none in any of these epochs."""
        return self.delivered.count(0)

    @property
    def is_most(self) -> bool:
        """It delivers most batches, too, so that it is not only slow."""
        return self.largest_batches == max(self.delivered)

    @property
    def to_mean(self) -> float:
        """For how long it builds over the mean of all."""
        mean = sum(self.build_ns) / len(self.build_ns)
        return self.build_ns[self._place] / mean if mean else 1.0

    @property
    def _place(self) -> int:
        return int(np.argmax(self.build_ns))


def find_parts(workers: Workers, window: Window, loader: int) -> Parts | None:
    """Of that loader's dataset; None where it has no parts, or they do not differ, or that is not known."""
    count = workers.numbers.get(loader, 0)
    if loader not in workers.iterable or count > MOST_WORKERS:
        return None
    ids = sorted({*range(count), *(row.worker for row in workers.rows if row.loader == loader)})
    if len(ids) < 2:
        return None
    table = workers.batches.table
    mine = (table.loader == loader) & (table.number >= 0)
    whole = tuple(_parts(table, rows, ids) for rows in _whole(table, mine, window))
    if any(epoch.differ for epoch in whole):
        return _of(whole, ids, workers.batches, whole=True)
    if not workers.take_turns(loader) and not _some_have_ended(workers, window, loader, ids):
        return None
    inside = mine & (table.consumed_ns >= window.start_ns) & (table.consumed_ns <= window.end_ns)
    pieces = (_parts(table, np.flatnonzero(inside & (table.epoch == epoch)), ids) for epoch in np.unique(table.epoch))
    piece = max(pieces, key=lambda piece: piece.batches)
    return _of((piece,), ids, workers.batches, whole=False) if piece.differ else None


def _some_have_ended(workers: Workers, window: Window, loader: int, ids: list[int]) -> bool:
    """No process of theirs lived in the window, in which others did, and none of their batches was on its way."""
    alive = {row.worker for row in workers.rows if row.loader == loader and row.alive_ns}
    table = workers.batches.table
    touched = rows_touched(table, window)
    busy = set(table.worker[touched[table.loader[touched] == loader]].tolist())
    return bool(alive) and not set(ids) <= alive | busy


def _of(epochs: tuple[EpochParts, ...], ids: list[int], batches: BatchTimes, *, whole: bool) -> Parts:
    """What a batch took whose start was not recorded is taken for the mean."""
    build = batches.build_ns
    usual = float(build[known(build)].mean()) if known(build).any() else 0.0
    rows = [[row for epoch in epochs for row in epoch.rows[place]] for place in range(len(ids))]
    took = tuple(sum(float(build[row]) if known(build[row : row + 1])[0] else usual for row in mine) for mine in rows)
    return Parts(tuple(ids), epochs, took, whole)


def _whole(table: BatchTable, mine: np.ndarray[tuple[int], np.dtype[np.bool_]], window: Window) -> Iterator[Int64Array]:
    """The rows of each epoch that began in the window and was over before its end: all of its batches were taken, and
    another one follows.
    """
    last = int(table.epoch[mine].max(initial=-1))
    for epoch in np.unique(table.epoch[mine & (table.epoch >= 0)]).tolist():
        rows = np.flatnonzero(mine & (table.epoch == epoch))
        begun = known(table.drawn_ns[rows]).all() and int(table.drawn_ns[rows].min()) >= window.start_ns
        taken = known(table.consumed_ns[rows]).all() and int(table.consumed_ns[rows].max()) <= window.end_ns
        if begun and taken and epoch < last:
            yield rows


def _parts(table: BatchTable, rows: Int64Array, workers: list[int]) -> EpochParts:
    rows = rows[np.argsort(table.number[rows], kind="stable")]
    return EpochParts(tuple(tuple(rows[table.worker[rows] == worker].tolist()) for worker in workers))
