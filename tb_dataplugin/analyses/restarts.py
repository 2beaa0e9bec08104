"""Iterators that a loop makes anew in its steps and drops early: ``next(iter(loader))``, for one batch each.

Each of them starts the loader's DataLoader workers, waits for a first batch, and throws away what was fetched ahead.
Such starts are no epochs': every step has them, so they belong to the training loop as it goes on. What an iterator
would have given is the loader's length; where that is not known, one that came to its end shows by a last ``next()``
that receives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, PipelineInfo, Trace

HABIT: Final = 3
"""Iterators of a loader in the window, from which it can be said what becomes of most of them: two are followed by
another one.
"""


@dataclass(frozen=True, slots=True)
class Restarts:
    """Of one loader, by its number. `made`: its iterators that began in the window; `taken`: batches of each, on
    average, of `length` that it would give (None: not known). `waits`: for its batches. `needed_ns`: what its
    DataLoader workers need to build the batches that were taken, were all of them built as fast as the fastest.
    """

    number: int
    made: int
    taken: float
    length: int | None
    waits: Intervals
    needed_ns: float


@dataclass(frozen=True, slots=True)
class Made:
    """Iterators of one loader that began in the window: how many, how many batches were taken of them, and whether most
    were dropped early.
    """

    count: int
    taken: int
    dropped: bool


def find_restarts(
    trace: Trace,
    window: Window,
    loader: LoaderWait | None,
    use: LoaderUse,
    batches: BatchTimes | None,
    steps: Steps | None,
) -> tuple[Restarts, ...]:
    """Of the loaders of which most steps make an iterator, and most iterators are dropped early."""
    if loader is None or steps is None or trace.info.pipeline is None or trace.info.mode == "replay":
        return ()
    return tuple(_restarts(trace.info.pipeline, window, loader.waits, use, batches, len(steps)))


def _restarts(
    pipeline: PipelineInfo,
    window: Window,
    waits: Intervals,
    use: LoaderUse,
    batches: BatchTimes | None,
    steps: int,
) -> Iterator[Restarts]:
    for number, info in enumerate(pipeline.loaders):
        rows = use.of_wait == number
        mine = Intervals(waits.start[rows], waits.end[rows])
        made = iterators_made(pipeline, number, window, mine, batches)
        if made.dropped and made.count >= HABIT and 2 * made.count > steps:
            needed = _needed_ns(info, number, made, batches)
            yield Restarts(number, made.count, made.taken / made.count, length_of(info), mine, needed)


def length_of(loader: LoaderInfo) -> int | None:
    """Batches in an epoch."""
    if not loader.sampler_length or not loader.batch_size:
        return None
    whole, rest = divmod(loader.sampler_length, loader.batch_size)
    return whole + (1 if rest and not loader.drop_last else 0)


def iterators_made(
    pipeline: PipelineInfo, number: int, window: Window, waits: Intervals, batches: BatchTimes | None
) -> Made:
    """`waits`: for batches of that loader."""
    made = _recorded(pipeline, number, window, waits, batches) if batches is not None else None
    return _counted(pipeline.loaders[number], len(waits)) if made is None else made


def _recorded(
    pipeline: PipelineInfo, number: int, window: Window, waits: Intervals, batches: BatchTimes
) -> Made | None:
    """By the records of batches that DataLoader workers built; None where there are none."""
    table, length = batches.table, length_of(pipeline.loaders[number])
    mine = (table.loader == number) & (table.epoch >= 0)
    if not mine.any():
        return None
    first = mine & (table.number == 0) & (table.drawn_ns >= window.start_ns) & (table.drawn_ns < window.end_ns)
    begun = {int(epoch): int(drawn) for epoch, drawn in zip(table.epoch[first], table.drawn_ns[first], strict=True)}
    taken = {epoch: mine & (table.epoch == epoch) & known(table.consumed_ns) for epoch in begun}
    dropped, gone = 0, _gone(pipeline, number, begun, table, window)
    for epoch, gone_ns in gone.items():
        count = int(taken[epoch].sum())
        last = int(table.consumed_ns[taken[epoch]].max(initial=begun[epoch]))
        ended = (waits.start > last) & (waits.start < gone_ns)
        dropped += not ended.any() if length is None else count < length
    return Made(len(begun), sum(int(rows.sum()) for rows in taken.values()), 2 * dropped > len(gone))


def _gone(
    pipeline: PipelineInfo, number: int, begun: dict[int, int], table: BatchTable, window: Window
) -> dict[int, int]:
    """By its epoch, when an iterator was gone at the latest: the next one had begun, or all its workers had ended.
    Without those that may still be there.
    """
    order = sorted(begun)
    gone = {epoch: begun[after] for epoch, after in pairwise(order)}
    for epoch in order[-1:]:
        pids = table.pid[(table.loader == number) & (table.epoch == epoch)]
        ends = [each.ended_ns for each in pipeline.workers if each.loader == number and each.pid in pids]
        ended = [end for end in ends if end is not None and end < window.end_ns]
        if ended and len(ended) == len(ends):
            gone[epoch] = max(ended)
    return gone


def _counted(loader: LoaderInfo, waits: int) -> Made:
    """By how often ``iter()`` was called in the window: of iterators that came to their end, as many as are followed by
    another one would have had a wait for each batch, and one for the end.
    """
    made, length = loader.iterated_in_window or 0, length_of(loader)
    return Made(made, waits, length is not None and 2 * waits < (made - 1) * (length + 1))


def _needed_ns(loader: LoaderInfo, number: int, made: Made, batches: BatchTimes | None) -> float:
    if batches is None or not loader.num_workers:
        return 0.0
    build = batches.build_ns[(batches.table.loader == number) & known(batches.build_ns)]
    return float(np.min(build)) * made.taken / loader.num_workers if len(build) else 0.0
