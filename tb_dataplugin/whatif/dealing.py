"""Which DataLoader worker builds which batch, where that matters: workers that differ, or have parts of their own.

Batches of a map-style dataset are drawn alike, and any worker may build any of them: unless workers differ by more than
chance, the time of a batch is its own. Else it is its worker's, and goes with it. Each worker of an iterable dataset
has an iterator of its own, so that what one does not build no other one can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np

from tb_dataplugin.whatif.loop import Epoch, Loop, Rows, Timed


def dealt(loop: Loop, old: Loop, *, evenly: bool) -> Loop:
    """`loop`, of which `old` was captured, with its batches at the workers that it has now. Of more or fewer workers
    none is known: what there was is dealt to them in turns. `evenly`: to each as much of every worker's.
    """
    if not loop.built_by:
        return loop
    workers, before = loop.settings.workers, old.settings
    if old.epochs:
        if not evenly and workers == before.workers:
            return loop
        divided = evenly_divided if evenly else _merged
        return replace(loop, epochs=tuple(divided(epoch, workers) for epoch in old.epochs if workers))
    if evenly:
        rows = _evenly(np.array(loop.built_by))
        build = Timed(loop.build.parts, loop.build.ns[rows])
        return replace(loop, build=build, built=(), built_by=())
    if workers != before.workers:
        return replace(loop, built_by=())
    kept = old.keeps_shares or (loop.own_parts and before.in_order)
    return replace(loop, keeps_shares=kept and not loop.settings.in_order)


def evenly_divided(epoch: Epoch, workers: int) -> Epoch:
    """Each worker gets as many of its batches, of those of all workers."""
    rows = [row for turn in zip_longest(*epoch) for row in turn if row is not None]
    return tuple(tuple(rows[worker::workers]) for worker in range(workers))


def _merged(epoch: Epoch, workers: int) -> Epoch:
    """Parts stay as they are, and are dealt to fewer workers in turn; further workers have none."""
    return tuple(tuple(chain.from_iterable(epoch[worker::workers])) for worker in range(workers))


def otherwise_dealt(new: Loop, old: Loop) -> Iterator[Loop]:
    """`new` with the parts of unequal size dealt to its workers in the best way, and in the worst: nobody knows which
    it is where they are not as many as those of `old`.
    """
    workers = new.settings.workers
    if not new.epochs or workers in (1, old.settings.workers):
        return
    yield replace(new, epochs=tuple(evenly_divided(epoch, workers) for epoch in new.epochs))
    if workers < old.settings.workers:
        yield replace(new, epochs=tuple(_with_one(epoch) for epoch in new.epochs))


def _with_one(epoch: Epoch) -> Epoch:
    return (tuple(chain.from_iterable(epoch)), *(() for _ in epoch[1:]))


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
    if old.epochs:
        yield from _notes_on_epochs(new, old)
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


def _notes_on_epochs(new: Loop, old: Loop) -> Iterator[str]:
    """Of parts of unequal size."""
    if not old.whole_epochs:
        yield (
            "Some DataLoader workers were at the end of their part of the iterable dataset before others, and the "
            "window has no whole epoch. The prediction is for batches delivered as in the window; over a whole epoch a "
            "step may take shorter or longer."
        )
    if new.settings.workers not in (1, old.settings.workers):
        yield (
            "The parts of the iterable dataset are of unequal size, and which part each of another number of "
            "DataLoader workers gets is not in the capture. The value has the same parts, dealt to the workers in "
            "turn; the interval also has them divided evenly, and with fewer workers than now all with one of them."
        )
