"""DataLoaders beside the training loop's whose DataLoader workers start anew for each pass, as an evaluation's do.

The program makes such a loader anew each time, or keeps it without ``persistent_workers``. Loaders of the same settings
are taken together. What a pass has of it: making the iterator, which is no data wait; the wait for its first batch,
without building it; and the wait for workers that end. What is for a look at a batch or two is `looks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.looks import Looks
from tb_dataplugin.analyses.remade import HABIT, settings_of
from tb_dataplugin.analyses.restarts import Restarts
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import LoaderInfo, PipelineInfo, Trace


@dataclass(frozen=True, slots=True)
class StartedAgain:
    """Of loaders that are alike, by their numbers. `passes`: with new DataLoader workers, that began in the window, in
    `steps`. `is_certain`: the program let go of a loader before the next, or passes over one again; else it may hold
    several that are alike. `waits`: of their data wait, what workers that live on would not have. `excess_ns`: what
    these steps took longer than the fastest of the others, without the rest of that wait: as much as all of it costs.
    `is_whole`: of these passes, all that it costs is data wait: ``iter(loader)`` was recorded, and the workers ended in
    a ``next()``.
    """

    loaders: tuple[int, ...]
    passes: int
    steps: tuple[int, ...]
    is_certain: bool
    waits: Intervals
    excess_ns: int
    is_whole: bool = False


def find_started_again(
    trace: Trace,
    window: Window,
    loader: LoaderWait | None,
    use: LoaderUse,
    batches: BatchTimes | None,
    steps: Steps | None,
    shutdown: Intervals,
    looks: Looks | None,
    restarts: tuple[Restarts, ...],
) -> tuple[StartedAgain, ...]:
    """`shutdown`: of all loaders, waits for workers to end."""
    pipeline = trace.info.pipeline
    if loader is None or batches is None or steps is None or pipeline is None or trace.info.mode == "replay":
        return ()
    but = {each.number for each in restarts} | {each.number for each in (looks.loaders if looks else ())}
    groups: dict[LoaderInfo, list[int]] = {}
    for number, info in enumerate(pipeline.loaders):
        if use.is_aside(number) and number not in but and info.num_workers:
            groups.setdefault(settings_of(info), []).append(number)
    found = (_group(pipeline, window, loader, use, batches, steps, shutdown, mine) for mine in groups.values())
    return tuple(each for each in found if each is not None)


def _group(
    pipeline: PipelineInfo,
    window: Window,
    loader: LoaderWait,
    use: LoaderUse,
    batches: BatchTimes,
    steps: Steps,
    shutdown: Intervals,
    loaders: list[int],
) -> StartedAgain | None:
    first = np.array(list(_first_batches(batches, window, loaders)), dtype=np.int64)
    places = np.unique(np.concatenate([use.steps[number] for number in loaders]))
    theirs = np.isin(np.arange(len(steps)), places)
    if len(first) < 2 or theirs.all() or not theirs.any():
        return None
    rows = np.isin(use.of_wait, loaders)
    mine = Intervals(loader.waits.start[rows], loader.waits.end[rows])
    begun = Intervals.union(batches.wait_start_ns[first], batches.wait_end_ns[first])
    built = Intervals.union(batches.table.started_ns[first], batches.table.finished_ns[first])
    made, ended = loader.made.intersect(mine), shutdown.intersect(mine)
    saved = Intervals.union_of((made, begun.minus(built), ended))
    lasted = steps.duration_ns
    excess = int(np.maximum(0, lasted[theirs] - lasted[~theirs].min()).sum()) - mine.minus(saved).total_ns
    infos = [pipeline.loaders[number] for number in loaders]
    certain = any(info.gone for info in infos) or len(first) > len(loaders) or len(loaders) >= HABIT
    numbers = tuple(steps.number[theirs].tolist())
    is_whole = min(len(made), len(ended) + 1) >= len(first)
    return StartedAgain(tuple(loaders), len(first), numbers, certain, saved, max(0, excess), is_whole)


def _first_batches(batches: BatchTimes, window: Window, loaders: list[int]) -> Iterator[int]:
    """Rows of the first batches of passes that began in the window with a DataLoader worker that built none before,
    as far as it is known when they were built and received.
    """
    table = batches.table
    for row in np.flatnonzero(np.isin(table.loader, loaders) & (table.number == 0) & known(batches.wait_start_ns)):
        mine = (table.loader == table.loader[row]) & (table.pid == table.pid[row])
        earlier = (mine & (table.epoch < table.epoch[row])).any()
        is_known = known(table.started_ns[row : row + 1])[0] and known(table.finished_ns[row : row + 1])[0]
        if is_known and not earlier and window.start_ns <= batches.wait_start_ns[row] < window.end_ns:
            yield int(row)
