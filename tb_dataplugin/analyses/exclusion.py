"""Whether DataLoader workers exclude each other at a line that they are blocked in: a lock does that, a slow disk or
server does not.

While one waits for a lock, another has it: it works on a batch, and does not wait there. Who waits for a disk does so
whatever the others do, and as often as chance has it all of them wait. How often chance has it the same samples say:
the times of each worker are shifted against those of the others, all the way round the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.line_rows import Mask
from tb_dataplugin.model.intervals import Int64Array, Window

MOMENTS: Final = 499
"""Of the window, at which the workers are looked at. A prime number: no shift brings two of them together again."""

MOST_BY_CHANCE: Final = 0.05
"""Part of the shifts in which workers wait alone nearly as seldom as in truth, up to which that is no chance. Nearly,
because two that alternate like clockwork, without a lock, do so after each shift by about their period."""

AS_SELDOM: Final = 0.5
"""Of what chance has: who sleeps while it waits, as SQLite does, notices a while later that the lock is free."""


LEAST_ALONE: Final = 0.1
"""Part of the waiting in which chance has it that no worker works, from which the samples can tell at all."""


def exclude_each_other(track: Int64Array, time_ns: Int64Array, waits: Mask, works: Mask, window: Window) -> bool | None:
    """Columns of samples, by time in each track: of which worker, when, whether it is blocked in that line, and whether
    it is at work on a batch elsewhere. None where the samples do not tell.
    """
    moments = np.linspace(window.start_ns, window.end_ns, MOMENTS, endpoint=False).astype(np.int64)
    workers = [np.flatnonzero(track == each) for each in np.unique(track)]
    rows = [mine[_latest(time_ns[mine], moments)] for mine in workers]
    if len(rows) < 2 or not waits[np.concatenate(rows)].any():
        return None
    waiting, working = waits[np.stack(rows)], works[np.stack(rows)]
    alone = _alone(waiting, working)
    by_chance = np.array([_alone(*shifted) for shifted in _shifted(waiting, working)])
    usual = float(by_chance.mean())
    seldom = AS_SELDOM * usual
    if alone <= seldom and float((by_chance <= (alone + seldom) / 2).mean()) <= MOST_BY_CHANCE:
        return True
    return False if usual >= LEAST_ALONE and alone >= (seldom + usual) / 2 else None


def _latest(time_ns: Int64Array, moments: Int64Array) -> npt.NDArray[np.intp]:
    """The sample before each moment."""
    return np.maximum(0, np.searchsorted(time_ns, moments, side="right") - 1)


def _alone(waiting: Mask, working: Mask) -> float:
    """Part of the waiting during which no worker works: nobody has what is waited for."""
    return float((waiting & ~working.any(axis=0)).sum() / waiting.sum())


def _shifted(waiting: Mask, working: Mask) -> Iterator[tuple[Mask, Mask]]:
    """Each worker by its number times as much."""
    number, moment = np.arange(len(waiting))[:, None], np.arange(MOMENTS)[None]
    for shift in range(1, MOMENTS):
        row = (moment + number * shift) % MOMENTS
        yield np.take_along_axis(waiting, row, 1), np.take_along_axis(working, row, 1)
