"""The slowest samples: which dataset index, in which worker, and what took the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.call_kinds import SLOW as MANY_TIMES
from tb_dataplugin.analyses.call_kinds import come_evenly, common_ns, slow_calls
from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.collector import full_collections
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.line_waits import WaitedFor
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.making import BATCHED_FETCH
from tb_dataplugin.analyses.sample_loaders import LoaderSamples, by_loader, loaders_of
from tb_dataplugin.analyses.slow_calls import Calls
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.worker_collections import collected_by_span
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import Trace, WorkerProcess

Rows = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

MOST = 20
"""Of each loader."""

SLOW: Final = 0.1
"""Part of the slowest one's time, from which a sample stands beside it, whatever is usual."""


@dataclass(frozen=True, slots=True)
class SlowSample:
    """`index` is -1 for iterable datasets, `worker` without DataLoader workers; `batch`, `epoch` and `loader` are -1
    where they are not known. `stage` has the most self time in the sample, `stage_ns` of it.

    `files`: paths that it was read from, where the recorder saw them. `storage_share`: of the bytes that reads returned
    to its batch, what came from storage; None: not measured.
    """

    index: int
    start_ns: int
    duration_ns: int
    loader: int
    worker: int
    batch: int
    epoch: int
    stage: str
    stage_ns: int
    files: tuple[str, ...] = ()
    storage_share: float | None = None
    first: bool = False
    """It is the first ``next()`` of an iterable dataset's iterator, which may fill buffers and open files."""
    collected_ns: int = 0
    """Of its duration, in full collections of Python's garbage, which fall on any sample by chance; in a DataLoader
    worker at least."""
    span_ns: int = 0
    """Of its span: its duration and all of those readings."""
    reading_ns: int = 0
    """Beside its duration: its thread waited so long for a CPU in readings of CPU time (`cpu_readings`). 0 where that
    is less than a tenth of it."""
    apart: bool = False
    """It belongs to an epoch's start, or to another DataLoader than the training loop's."""
    waited_ns: int | None = None
    """Of its duration, off the CPU; None where CPU time was not recorded."""
    waited_at: Place | None = None
    """The line that it was mostly blocked in, by stack samples; None where none was seen."""
    waited_for: WaitedFor | None = None
    """What that line waits for, where it names that."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What samples of one loader take; `count` of them start in the window. Without the first ones of iterators:
    `median_ns`; `common_ns`, as `call_kinds.common_ns`. `are_even`: those that take many times as long as that come too
    evenly among the others for exceptions; `slow`: how many these are, of which each takes `slow_ns` or more.
    `ran_ns`: CPU time of a common one, by the same rule; None where that was not recorded of all.
    """

    count: int
    median_ns: float
    common_ns: float
    are_even: bool
    slow: int
    slow_ns: int
    ran_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Samples:
    """Single samples that start in the window, or that its beginning cuts, where steps are not chosen: those of
    DataLoader workers; without their records those that the training process loaded itself.

    `loaders`: whose they are, the training loop's first. `habits`: by number of the loader, in the loop as it goes on.
    """

    slowest: tuple[SlowSample, ...] = ()
    loaders: tuple[LoaderSamples, ...] = ()
    habits: Mapping[int, Habit] = field(default_factory=dict)


def find_samples(
    calls: Calls, window: Window, loader: LoaderWait | None, use: LoaderUse, apart: BoolArray | None = None
) -> Samples:
    """A replay has a table of its own for what it loaded. `apart`: spans that are not the training loop's as it goes
    on.
    """
    if calls.trace.info.mode == "replay":
        return Samples()
    rows, tree = _loaded(calls, window), calls.tree
    collected = full_collections(calls.trace, tree).overlap(tree.start_ns[rows], tree.end_ns[rows])
    collected *= ~np.isin(tree.track[rows], list(calls.tracks))
    collected += collected_by_span(calls.trace, tree)[rows]
    first = _first_of_iterators(calls.trace, tree, np.flatnonzero(_is_sample(tree)[tree.node]))
    number = loaders_of(calls.trace, tree, rows, loader, use)
    slowest = (_slowest(calls, rows[mine], collected[mine], first, apart, each) for each, mine in _split(number))
    goes_on = np.array([row not in first and (apart is None or not apart[row]) for row in rows.tolist()], np.bool_)
    took = tree.took_ns[rows] - collected
    by_duration = sorted(chain(*slowest), key=lambda one: (one.collected_ns - one.duration_ns, one.start_ns))
    loaders = by_loader(number, calls.facts.index[rows], took, goes_on, use.main)
    loop, begun = np.ones(len(rows), np.bool_) if apart is None else ~apart[rows], tree.starts_in(window)[rows]
    habits = {
        each: replace(_habit(calls, rows[mine & goes_on], took[mine & goes_on]), count=int((mine & loop & begun).sum()))
        for each, mine in _split(number)
        if (mine & goes_on).any()
    }
    return Samples(tuple(by_duration), loaders, habits)


def _habit(calls: Calls, rows: Rows, took: Int64Array) -> Habit:
    tree, ran, common = calls.tree, calls.facts.cpu_ns[rows], common_ns(took)
    slow = slow_calls(took, common)
    are_even = come_evenly(slow, tree.start_ns[rows], tree.track[rows])
    least = int(took[slow].min()) if slow.any() else 0
    ran_ns = common_ns(ran) if (ran >= 0).all() else None
    return Habit(len(rows), float(np.median(took)), common, are_even, int(slow.sum()), least, ran_ns)


def _split(number: Int64Array) -> Iterator[tuple[int, BoolArray]]:
    yield from ((each, number == each) for each in np.unique(number).tolist())


def _slowest(
    calls: Calls, rows: Rows, collected: Int64Array, first: set[int], apart: BoolArray | None, loader: int
) -> tuple[SlowSample, ...]:
    """Of one loader, slowest first, without full collections of garbage."""
    tree, tracks = calls.tree, calls.tracks
    process = np.array([tracks[track].pid if track in tracks else 0 for track in tree.track[rows].tolist()])
    order = np.lexsort((process, tree.start_ns[rows], collected - tree.took_ns[rows]))[:MOST]
    slowest = rows[order].tolist()
    found = tuple(
        _describe(calls, row, tracks.get(int(tree.track[row])), loader, row in first, ns)
        for row, ns in zip(slowest, collected[order].tolist(), strict=True)
    )
    if apart is None:
        return found
    return tuple(replace(sample, apart=bool(apart[row])) for sample, row in zip(found, slowest, strict=True))


def _loaded(calls: Calls, window: Window) -> Rows:
    tree, tracks = calls.tree, calls.tracks
    rows = _is_sample(tree)[tree.node] & (tree.starts_in(window) | _cut(tree, window))
    if tracks:
        rows &= np.isin(tree.track, list(tracks))
    return np.flatnonzero(rows)


def _cut(tree: StageTree, window: Window) -> BoolArray:
    """What began before the window, with a considerable part in it. Of chosen steps other steps have it."""
    inside = np.minimum(tree.end_ns, window.end_ns) - window.start_ns
    cut = (tree.start_ns < window.start_ns) & (inside > SLOW * (tree.end_ns - tree.start_ns))
    return cut & (window != tree.chosen)


def _is_sample(tree: StageTree) -> BoolArray:
    """By node."""
    last = [path[-1] for path in tree.paths]
    return np.array([stage.kind == "sample" and not stage.label.endswith(BATCHED_FETCH) for stage in last], np.bool_)


def held_up(sample: SlowSample, batches: BatchTimes, waits: Intervals) -> Intervals:
    """Of these waits, those for its batch and the batches after it: it can have caused no other."""
    table = batches.table
    later = (table.epoch > sample.epoch) | ((table.epoch == sample.epoch) & (table.number >= sample.batch))
    rows = later & (table.loader == sample.loader) & known(batches.wait_start_ns)
    return Intervals.union(batches.wait_start_ns[rows], batches.wait_end_ns[rows]).intersect(waits)


def its_batch(sample: SlowSample, batches: BatchTimes) -> Rows:
    """The row of its batch, if that is known."""
    table = batches.table
    mine = (table.loader == sample.loader) & (table.epoch == sample.epoch) & (table.number == sample.batch)
    return np.flatnonzero(mine & known(batches.build_ns))[:1]


def listed_samples(samples: Samples) -> tuple[SlowSample, ...]:
    """Those that are slow beside the slowest of their loader in the loop as it goes on, or many times as slow as its
    common ones: what a finding counts has a row.
    """
    mine = {
        each: _listed([sample for sample in samples.slowest if sample.loader == each], samples.habits.get(each))
        for each in _numbers(samples.slowest)
    }
    return tuple(sample for sample in samples.slowest if sample in mine[sample.loader])


def _numbers(samples: tuple[SlowSample, ...]) -> set[int]:
    return {sample.loader for sample in samples}


def _listed(samples: Sequence[SlowSample], habit: Habit | None) -> tuple[SlowSample, ...]:
    times = [sample.duration_ns - sample.collected_ns for sample in samples]
    usual = [time for sample, time in zip(samples, times, strict=True) if not sample.apart and not sample.first]
    least = SLOW * max(usual or times, default=0)
    if habit is not None:
        least = min(least, MANY_TIMES * habit.common_ns)
    return tuple(sample for sample, time in zip(samples, times, strict=True) if time >= least)


def _first_of_iterators(trace: Trace, tree: StageTree, samples: Rows) -> set[int]:
    """Of these spans of samples, those without an index that come first in a DataLoader worker's first batch of an
    epoch: workers take turns, so that its number is below theirs.
    """
    facts, tracks = trace.span_facts, trace.worker_tracks()
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    found: dict[tuple[int, int], int] = {}
    for row in samples[(facts.index[samples] < 0) & (facts.batch[samples] >= 0)].tolist():
        track, batch = int(tree.track[row]), int(facts.batch[row])
        if track not in tracks or tracks[track].loader >= len(loaders):
            continue
        if batch < (loaders[tracks[track].loader].num_workers or 0):
            key = (track, int(facts.epoch[row]))
            if key not in found or tree.start_ns[row] < tree.start_ns[found[key]]:
                found[key] = row
    return set(found.values())


def _describe(
    calls: Calls, row: int, process: WorkerProcess | None, loader: int, first: bool, collected_ns: int
) -> SlowSample:
    """`process`: None for the training process."""
    trace, tree = calls.trace, calls.tree
    start, end = int(tree.start_ns[row]), int(tree.end_ns[row])
    mine = tree.pieces_of_track(int(tree.track[row]))
    pieces = (tree.piece_start[mine] >= start) & (tree.piece_end[mine] <= end)
    spent: dict[str, int] = {}
    lengths = (tree.piece_end[mine] - tree.piece_start[mine])[pieces].tolist()
    for span, length in zip(tree.piece_span[mine][pieces].tolist(), lengths, strict=True):
        name = tree.paths[tree.node[span]][-1].name
        spent[name] = spent.get(name, 0) + length
    for span in np.unique(tree.piece_span[mine][pieces]).tolist():
        spent[tree.paths[tree.node[span]][-1].name] -= int(tree.own_reading_ns[span])
    took_ns, stage = int(tree.took_ns[row]), max(spent, key=lambda name: spent[name], default="")
    facts, (waited_at, waits_for) = trace.span_facts, calls.blocked_at(row)
    return SlowSample(
        index=int(facts.index[row]),
        start_ns=start,
        duration_ns=took_ns,
        span_ns=end - start,
        reading_ns=reading if (reading := int(tree.reading_ns[row])) >= SLOW * took_ns else 0,
        loader=loader,
        worker=process.worker if process else -1,
        batch=int(facts.batch[row]),
        epoch=int(facts.epoch[row]),
        stage=stage,
        stage_ns=spent.get(stage, 0),
        files=facts.files.get(row, ()),
        storage_share=None
        if process is None
        else _storage_share(trace, process, int(facts.epoch[row]), int(facts.batch[row])),
        first=first,
        collected_ns=collected_ns,
        waited_ns=None if facts.cpu_ns[row] < 0 else max(0, took_ns - int(facts.cpu_ns[row])),
        waited_at=waited_at,
        waited_for=waits_for,
    )


def _storage_share(trace: Trace, process: WorkerProcess, epoch: int, batch: int) -> float | None:
    pipeline = trace.info.pipeline
    table, costs = (pipeline.batches, pipeline.batch_costs) if pipeline else (None, None)
    if table is None or costs is None:
        return None
    is_batch = (table.loader == process.loader) & (table.epoch == epoch) & (table.number == batch)
    rows = np.flatnonzero(is_batch & (costs.read_chars > 0) & (costs.read_bytes >= 0))
    if not len(rows):
        return None
    return min(1.0, float(costs.read_bytes[rows[0]] / costs.read_chars[rows[0]]))
