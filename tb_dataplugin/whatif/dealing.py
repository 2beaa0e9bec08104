"""Which DataLoader worker builds which batch, where that matters: workers that differ, or have parts of their own.

Batches of a map-style dataset are drawn alike, and any worker may build any of them: unless workers differ by more than
chance, the time of a batch is its own. Else it is its worker's, and goes with it. Each worker of an iterable dataset
has an iterator of its own, so that what one does not build no other one can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tb_dataplugin.whatif.loop import Loop, Rows, Timed


def dealt(loop: Loop, old: Loop, *, evenly: bool) -> Loop:
    """`loop`, of which `old` was captured, with its batches at the workers that it has now. Of more or fewer workers
    none is known: what there was is dealt to them in turns. `evenly`: to each as much of every worker's.
    """
    if not loop.built_by:
        return loop
    workers, before = loop.settings.workers, old.settings
    if evenly:
        rows = _evenly(np.array(loop.built_by))
        build = Timed(loop.build.parts, loop.build.ns[rows])
        return replace(loop, build=build, built=(), built_by=())
    if workers != before.workers:
        return replace(loop, built_by=())
    kept = old.keeps_shares or (loop.own_parts and before.in_order)
    return replace(loop, keeps_shares=kept and not loop.settings.in_order)


def _evenly(built_by: Rows) -> Rows:
    """Rows, so that each worker in turn gets one of the first worker, then of the second, and so on."""
    own = [np.flatnonzero(built_by == worker) for worker in np.unique(built_by)]
    turns = range(max(map(len, own)))
    each = [[own[(place + turn) % len(own)] for place in range(len(own))] for turn in turns]
    return np.array([mine[turn % len(mine)] for turn, workers in zip(turns, each, strict=True) for mine in workers])


def notes_on_parts(new: Loop, old: Loop) -> Iterator[str]:
    """What a prediction takes for granted of the parts of an iterable dataset."""
    if not old.own_parts or min(new.settings.workers, old.settings.workers) < 1:
        return
    if new.keeps_shares and new.settings.workers > 1:
        yield (
            "in_order=False: each DataLoader worker of an iterable dataset delivers its own part, in whatever order. "
            "The value is the mean over an epoch with parts of equal length: batches of a quick part only come sooner, "
            "and the wait for those of a slow part later. A window at an epoch's start may be much faster."
        )
    if old.differ and new.settings.workers != old.settings.workers:
        yield (
            "With another number of DataLoader workers, which of them gets which part of the iterable dataset is not "
            "in the capture. The value has the batches of the window dealt to them in turn, and takes for granted that "
            "there is a part for each."
        )
