"""Which waits are certainly for batches of a DataLoader that is not annotated, beside loaders that are.

Who built these batches is not recorded. But torch's own mark says that a DataLoader is waited for, and each of these
shows that it is none of the recorded ones:

- the training loop takes its batches through ``prof.steps``, and this wait is outside of that;
- torch's mark is that of a DataLoader without workers, and all recorded ones have workers;
- torch's mark is that of one with workers, and another thread takes the batches of all recorded ones that have any;
- the only recorded one has no workers, builds its batches in its waits, and goes on after this one, in which it built
  nothing, without beginning anew: where first batches are not marked, more of such waits than it began anew;
- the recorded one handed out a batch before and the next one after it, or the last of an epoch before, whose end it
  was asked for once, and the first of the next epoch after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import TORCHS_WAIT, named_by_loader
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, Trace

BoolArray = npt.NDArray[np.bool_]

OF_WORKERS: Final = "#_MultiProcessingDataLoaderIter.__next__"
"""Ends the name of torch's mark."""

IN_PROCESS: Final = "#_SingleProcessDataLoaderIter.__next__"
"""The same of a DataLoader without workers."""


def waits_of_others(
    trace: Trace,
    waits: Intervals,
    batches: BatchTimes | None,
    of_wait: Int64Array,
    built: BoolArray,
    begun: Int64Array,
) -> BoolArray:
    """Of these waits. `of_wait`: numbers of the loaders that they are for, as far as these are recorded. `built`: those
    with samples that the training thread made. `begun`: when steps began.
    """
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    if not loaders or not len(waits):
        return np.zeros(len(waits), dtype=np.bool_)
    received, of_steps = _receive(waits, batches), _taken_by_steps(trace, waits)
    marked, in_process = (has_mark(trace, waits, end) for end in (OF_WORKERS, IN_PROCESS))
    is_around = (in_process & received).any()  # one that has a recorded one inside it
    found = in_process & (all(loader.num_workers for loader in loaders) and not is_around)
    if batches is not None and _are_taken_elsewhere(loaders, batches.table):
        found |= marked
    if len(loaders) == 1 and batches is not None and loaders[0].in_order is not False:
        found |= marked & _between(waits, batches, begun)
    if len(loaders) == 1 and loaders[0].num_workers == 0:
        made = 0 if of_steps.any() else loaders[0].iterated_in_window  # ``prof.steps`` marks first batches
        found |= _builds_nothing(in_process, built, _begins_anew(trace, waits), made)
    if of_steps.any() and _all_are_recorded(loaders, batches, of_wait):
        ends = _may_be_ends(marked & ~of_steps, received, _most_open(loaders, True))
        ends |= _may_be_ends(in_process & ~of_steps, built, _most_open(loaders, False))
        found |= (marked | (in_process & ~built)) & ~ends
    certain: BoolArray = found & ~received & ~of_steps
    return certain


def _are_taken_elsewhere(loaders: Sequence[LoaderInfo], table: BatchTable) -> bool:
    """Whether another thread took all batches of every loader that has workers."""
    taken = known(table.consumed_ns)
    own, others = (
        set(table.loader[taken & is_theirs].tolist()) for is_theirs in (table.elsewhere <= 0, table.elsewhere > 0)
    )
    with_workers = {number for number, loader in enumerate(loaders) if loader.num_workers}
    return bool(with_workers) and with_workers <= others and not own


def _builds_nothing(in_process: BoolArray, built: BoolArray, begins: BoolArray, made: int | None) -> BoolArray:
    """Waits without a batch of the one loader, up to one with its next batch: had it come to its end in one of them, it
    would begin anew there. `made`: how often it began anew in the window without a mark; None: not recorded.
    """
    places = np.flatnonzero(built)
    after = np.searchsorted(places, np.arange(len(built)), side="right")
    goes_on = np.append(~begins[places], False)[after]  # nothing is known of those behind its last batch
    found: BoolArray = in_process & ~built & goes_on & (after > 0)
    found[_may_have_ended(found, after, made)] = False
    return found


def _may_have_ended(found: BoolArray, after: Int64Array, made: int | None) -> Int64Array:
    """Places of waits that may be its ends: the first one up to each next batch. Where most of these cannot be, as it
    began anew `made` times, the steps draw from another loader as well, and an end is one wait more. `after`: how many
    batches each comes after.
    """
    places = np.flatnonzero(found)
    _, first, times = np.unique(after[places], return_index=True, return_counts=True)
    few = made is not None and 2 * made < len(first)
    longest = np.argsort(-times, kind="stable")[: made if few else None]
    return int64(places[first[longest]])


def _begins_anew(trace: Trace, waits: Intervals) -> BoolArray:
    """Which of them are for an epoch's first batch, as a recorded loader marks it."""
    spans, events = trace.stage_spans, trace.events
    first = np.array([stage.label.endswith(FIRST_BATCH) for stage in spans.stages], dtype=np.bool_)
    rows = spans.row[first[spans.stage] & spans.is_kind("wait")]
    rows = rows[events.track[rows] == trace.training_track]
    anew: BoolArray = Intervals.union(events.start_ns[rows], events.end_ns[rows]).overlap(waits.start, waits.end) > 0
    return anew


def _may_be_ends(waits: BoolArray, got_one: BoolArray, most: int) -> BoolArray:
    """Which of these waits may be the ends of recorded loaders' iterators, of which `most` are open at a time: all may
    be as the window opens, and one more after each batch.
    """
    found, are_open = np.zeros(len(waits), dtype=np.bool_), most
    for number in np.flatnonzero(waits).tolist():
        if got_one[number]:
            are_open = min(most, are_open + 1)
        elif are_open:
            found[number], are_open = True, are_open - 1
    return found


def _most_open(loaders: Sequence[LoaderInfo], has_workers: bool) -> int:
    """How many recorded loaders are iterated in the window beside ``prof.steps``."""
    return sum(
        bool(loader.num_workers) == has_workers and not loader.stepped and loader.iterated_in_window != 0
        for loader in loaders
    )


def _receive(waits: Intervals, batches: BatchTimes | None) -> BoolArray:
    """Which of them received a recorded batch."""
    found = np.zeros(len(waits), dtype=np.bool_)
    if batches is not None:
        start = batches.wait_start_ns[known(batches.wait_start_ns)]
        found[np.searchsorted(waits.start, start, side="right") - 1] = True
    return found


def has_mark(trace: Trace, waits: Intervals, end: str) -> BoolArray:
    """Which of them have a mark of torch's whose name ends so."""
    names = np.array([name.startswith(TORCHS_WAIT) and name.endswith(end) for name in trace.names], dtype=np.bool_)
    rows = np.flatnonzero(names[trace.events.name] & (trace.events.track == trace.training_track))
    marks = Intervals.union(trace.events.start_ns[rows], trace.events.end_ns[rows])
    has: BoolArray = marks.overlap(waits.start, waits.end) > 0
    return has


def come_from_workers(trace: Trace, waits: Intervals) -> bool:
    """Whether torch's marks show that DataLoader workers built the batches of all these waits."""
    from_workers = has_mark(trace, waits, OF_WORKERS) & ~has_mark(trace, waits, IN_PROCESS)
    return bool(len(waits)) and bool(from_workers.all())


def _all_are_recorded(loaders: Sequence[LoaderInfo], batches: BatchTimes | None, of_wait: Int64Array) -> bool:
    """Whether the waits for all annotated loaders that are iterated in the window show whose they are."""
    seen = set() if batches is None else set(batches.table.loader.tolist())
    return all(
        loader.iterated_in_window == 0
        or number in seen
        or (not loader.num_workers and (bool(loader.stepped) or bool((of_wait == number).any())))
        for number, loader in enumerate(loaders)
    )


def _taken_by_steps(trace: Trace, waits: Intervals) -> BoolArray:
    """Which of them ``prof.steps`` took."""
    spans, events, pipeline = trace.stage_spans, trace.events, trace.info.pipeline
    is_stepped = pipeline is not None and any(loader.stepped for loader in pipeline.loaders)
    if not is_stepped and not any(stage.label.endswith(FIRST_BATCH) for stage in spans.stages):
        return np.zeros(len(waits), dtype=np.bool_)
    rows = spans.row[spans.is_kind("wait")]
    rows = rows[~named_by_loader(trace.names)[events.name[rows]] & (events.track[rows] == trace.training_track)]
    taken: BoolArray = Intervals.union(events.start_ns[rows], events.end_ns[rows]).overlap(waits.start, waits.end) > 0
    return taken


def _between(waits: Intervals, batches: BatchTimes, begun: Int64Array) -> BoolArray:
    """Which of them lie between two batches of the one recorded loader between which it gave no other. After an epoch's
    last batch one is for that epoch's end.
    """
    table = batches.table
    rows = np.flatnonzero(known(batches.wait_start_ns) & (table.number >= 0))
    if not len(rows):
        return np.zeros(len(waits), dtype=np.bool_)
    rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
    before, after = rows[:-1], rows[1:]
    follows = (table.epoch[before] == table.epoch[after]) & (table.number[before] + 1 == table.number[after])
    found: BoolArray = _inside(waits, batches.wait_end_ns[before[follows]], batches.wait_start_ns[after[follows]])
    start, end = map(int64, zip(*_between_epochs(waits, batches, rows), strict=True))
    found |= _inside(waits, start, end)
    found[_ends_of_epochs(waits, start, end, begun)] = False
    return found


def _ends_of_epochs(waits: Intervals, start: Int64Array, end: Int64Array, begun: Int64Array) -> Int64Array:
    """Places of the waits that ask for an epoch's end: the first one after the step of its last batch, as the loop asks
    when that step is done, also where the step ends with an evaluation. Where the next epoch begins within the same
    step, or the last batch was not seen, the first one of all. `start`: of the stretches between epochs.
    """
    next_step = np.append(begun, np.iinfo(np.int64).max)[np.searchsorted(begun, start, side="right")]
    next_wait = np.append(waits.start, np.iinfo(np.int64).max)[np.searchsorted(waits.start, next_step, side="left")]
    asked = np.where((start > 0) & (next_wait < end), next_step, start)
    first = np.searchsorted(waits.start, asked, side="left")
    return int64(first[first < len(waits)])


def _between_epochs(waits: Intervals, batches: BatchTimes, rows: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """From an epoch's last batch to the next one's first, at least one pair. An epoch of which no batch was drawn that
    was not received is over: DataLoader workers are given indices ahead as long as there are any. `rows`: of batches
    that were received, in order.
    """
    table = batches.table
    epoch, number = table.epoch[rows], table.number[rows]
    yield 0, (int(batches.wait_start_ns[rows[0]]) if number[0] == 0 and epoch[0] > 0 else 0)
    for place in np.flatnonzero(np.append(epoch[1:] != epoch[:-1], True)).tolist():
        is_over = number[place] == table.number[table.epoch == epoch[place]].max()
        end = int(waits.end[-1])
        if place + 1 < len(rows):
            end = int(batches.wait_start_ns[rows[place + 1]])
            is_over &= epoch[place + 1] == epoch[place] + 1 and number[place + 1] == 0
        if is_over:
            yield int(batches.wait_end_ns[rows[place]]), end


def _inside(waits: Intervals, start: Int64Array, end: Int64Array) -> BoolArray:
    """Which of them lie in one of these stretches."""
    stretches = Intervals.union(start, np.maximum(start, end))
    inside: BoolArray = (stretches.overlap(waits.start, waits.end) > 0) & stretches.contains(waits.start)
    return inside
