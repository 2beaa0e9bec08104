"""Iterators that a loop makes anew in its steps and drops early: ``next(iter(loader))``, for one batch each.

Each of them starts the loader's DataLoader workers, waits for a first batch, and throws away what was fetched ahead.
Such starts are no epochs': every step has them, so they belong to the training loop as it goes on. What an iterator
would have given is the loader's length; where that is not known, one that came to its end shows by a last ``next()``
that receives nothing. What becomes of an iterator is looked up in all of the capture: of some steps that were chosen,
one may begin in them and end after them.
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
from tb_dataplugin.analyses.whole_capture import WholeCapture
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
    """Iterators of one loader that began in some time: how many, how many batches were taken of them, and whether most
    were dropped early; None where what became of them is not known.
    """

    count: int
    taken: int
    dropped: bool | None


def find_restarts(
    trace: Trace,
    window: Window,
    loader: LoaderWait | None,
    use: LoaderUse,
    whole: WholeCapture,
    steps: Steps | None,
) -> tuple[Restarts, ...]:
    """Of the loaders of which most steps make an iterator, and most iterators are dropped early."""
    if loader is None or steps is None or trace.info.pipeline is None or trace.info.mode == "replay":
        return ()
    return tuple(_restarts(trace.info.pipeline, window, loader.waits, use, whole, len(steps)))


def _restarts(
    pipeline: PipelineInfo, window: Window, waits: Intervals, use: LoaderUse, whole: WholeCapture, steps: int
) -> Iterator[Restarts]:
    for number, info in enumerate(pipeline.loaders):
        made = iterators_made(pipeline, number, window, whole)
        if made is None or not made.count or made.dropped is False:
            continue
        in_all = iterators_made(pipeline, number, whole.window, whole)
        if _is_habit(made, steps) or _is_habit(in_all, len(whole.steps or ())):
            rows = use.of_wait == number
            mine = Intervals(waits.start[rows], waits.end[rows])
            needed = _needed_ns(info, number, made, whole.batches)
            yield Restarts(number, made.count, made.taken / made.count, length_of(info), mine, needed)


def _is_habit(made: Made | None, steps: int) -> bool:
    return made is not None and bool(made.dropped) and made.count >= HABIT and 2 * made.count > steps


def length_of(loader: LoaderInfo) -> int | None:
    """Batches in an epoch."""
    if not loader.sampler_length or not loader.batch_size:
        return None
    whole, rest = divmod(loader.sampler_length, loader.batch_size)
    return whole + (1 if rest and not loader.drop_last else 0)


def iterators_made(pipeline: PipelineInfo, number: int, window: Window, whole: WholeCapture) -> Made | None:
    """Those of that loader that began in `window`, by all that the capture has of them; None where it does not say."""
    made = _recorded(pipeline, number, window, whole)
    return _counted(pipeline.loaders[number], whole.waits_of(number), window, whole.window) if made is None else made


def _recorded(pipeline: PipelineInfo, number: int, window: Window, whole: WholeCapture) -> Made | None:
    """By the records of batches that DataLoader workers built; None where there are none."""
    if whole.batches is None:
        return None
    table, length = whole.batches.table, length_of(pipeline.loaders[number])
    mine = (table.loader == number) & (table.epoch >= 0)
    if not mine.any():
        return None
    first = mine & (table.number == 0) & known(table.drawn_ns)
    drawn = {int(epoch): int(at) for epoch, at in zip(table.epoch[first], table.drawn_ns[first], strict=True)}
    begun = {epoch: at for epoch, at in drawn.items() if window.start_ns <= at < window.end_ns}
    taken = {epoch: mine & (table.epoch == epoch) & known(table.consumed_ns) for epoch in begun}
    waits, dropped = whole.waits_of(number), []
    for epoch, gone_ns in _gone(pipeline, number, drawn, table, whole.window).items():
        if epoch not in begun:
            continue
        last = int(table.consumed_ns[taken[epoch]].max(initial=begun[epoch]))
        ended = (waits.start > last) & (waits.start < gone_ns)
        dropped.append(not ended.any() if length is None else int(taken[epoch].sum()) < length)
    most = 2 * sum(dropped) > len(dropped) if dropped else None
    return Made(len(begun), sum(int(rows.sum()) for rows in taken.values()), most)


def _gone(
    pipeline: PipelineInfo, number: int, begun: dict[int, int], table: BatchTable, whole: Window
) -> dict[int, int]:
    """By its epoch, when an iterator was gone at the latest: the next one had begun, or all its workers had ended.
    Without those that may still be there.
    """
    order = sorted(begun)
    gone = {epoch: begun[after] for epoch, after in pairwise(order)}
    for epoch in order[-1:]:
        pids = table.pid[(table.loader == number) & (table.epoch == epoch)]
        ends = [each.ended_ns for each in pipeline.workers if each.loader == number and each.pid in pids]
        ended = [end for end in ends if end is not None and end < whole.end_ns]
        if ended and len(ended) == len(ends):
            gone[epoch] = max(ended)
    return gone


def _counted(loader: LoaderInfo, waits: Intervals, window: Window, whole: Window) -> Made | None:
    """By how often ``iter()`` was called in the capture: of iterators that came to their end, as many as are followed
    by another one would have had a wait for each batch, and one for the end. Which of the capture's began in `window`
    is known where that has all of its waits, and where no iterator has more than one.
    """
    made, length = loader.iterated_in_window or 0, length_of(loader)
    dropped = length is not None and 2 * len(waits) < (made - 1) * (length + 1)
    here = int(((waits.start >= window.start_ns) & (waits.start < window.end_ns)).sum())
    if window == whole or 0 < here == len(waits):
        return Made(made, here, dropped)
    return Made(here, here, dropped) if dropped and len(waits) <= made else None


def _needed_ns(loader: LoaderInfo, number: int, made: Made, batches: BatchTimes | None) -> float:
    if batches is None or not loader.num_workers:
        return 0.0
    build = batches.build_ns[(batches.table.loader == number) & known(batches.build_ns)]
    return float(np.min(build)) * made.taken / loader.num_workers if len(build) else 0.0
