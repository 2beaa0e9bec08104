"""Iterators that a loop makes in some of its steps for a look at a few batches, and drops: ``next(iter(val_loader))``.

Each of them starts that loader's DataLoader workers, and throws away what these fetched ahead. How often it is done
does not matter, as what it costs is counted: one look in twenty steps may take as long as three of them. A loader of
which more is taken than its workers have ahead is evaluated on, and told apart (`apart`); iterators that most steps
make are `restarts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.restarts import iterators_made, length_of
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.whole_capture import WholeCapture
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import LoaderInfo, PipelineInfo, Trace

PREFETCH: Final = 2
"""Batches that torch lets each DataLoader worker fetch ahead, where it is not said."""


@dataclass(frozen=True, slots=True)
class Look:
    """Of one loader, by its number. `made`: its iterators that began in the window; `taken`: batches of each, on
    average, of `length` that it would give (None: not known). `waits`: for its batches.
    """

    number: int
    made: int
    taken: float
    length: int | None
    waits: Intervals


@dataclass(frozen=True, slots=True)
class Looks:
    """`steps`: numbers of those that make iterators. `excess_ns`: what these took longer than the fastest of the
    others, together: as much as all of it costs, at most.
    """

    loaders: tuple[Look, ...]
    steps: tuple[int, ...]
    excess_ns: int


def find_looks(
    trace: Trace,
    window: Window,
    loader: LoaderWait | None,
    use: LoaderUse,
    whole: WholeCapture,
    steps: Steps | None,
) -> Looks | None:
    if loader is None or steps is None or trace.info.pipeline is None or trace.info.mode == "replay":
        return None
    looks = tuple(_looks(trace.info.pipeline, window, loader.waits, use, whole))
    if not looks:
        return None
    places = np.unique(np.concatenate([use.steps[each.number] for each in looks]))
    theirs = np.isin(np.arange(len(steps)), places)
    lasted = steps.duration_ns
    if theirs.all() or not theirs.any():
        return None
    excess = np.maximum(0, lasted[theirs] - lasted[~theirs].min())
    return Looks(looks, tuple(steps.number[theirs].tolist()), int(excess.sum()))


def _looks(
    pipeline: PipelineInfo, window: Window, waits: Intervals, use: LoaderUse, whole: WholeCapture
) -> Iterator[Look]:
    for number, info in enumerate(pipeline.loaders):
        if not use.is_aside(number):
            continue
        rows = use.of_wait == number
        mine = Intervals(waits.start[rows], waits.end[rows])
        made = iterators_made(pipeline, number, window, whole)
        if made is not None and made.count and made.dropped and made.taken <= made.count * _ahead(info):
            yield Look(number, made.count, made.taken / made.count, length_of(info), mine)


def _ahead(loader: LoaderInfo) -> int:
    """Batches that an iterator which is kept has ready when the next look comes."""
    return max(1, (loader.num_workers or 0) * (loader.prefetch_factor or PREFETCH))
