"""Waits of the training thread for another thread of its process, which iterates the loader ahead of it.

Such a wait contains no wait of the loader's own, and its iterator is no recorded loader. (Nor does a wait in which the
iterator had a batch left: that is its own code, since no batch of another thread comes then.) The other threads' stages
have it first (`WaitParts.add_stages`); then the DataLoader worker that the other thread waits for: its wait for a batch
is taken to last from the batch received before it to this one's arrival, unless that lay in the queue while the other
thread was away.
What remains is the iterator's own code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH, Stage
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import named_by_loader
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.trace import UNKNOWN_NS, Trace

PROMPT_NS = 1_000_000
"""A batch that lay in the queue for longer may not have been waited for: a thread starts as slowly only where CPUs, or
the interpreter's lock, are contended."""


def without_first(stage: Stage) -> str:
    """The iterator's label, also of its wait for a first batch."""
    return stage.label.removesuffix(FIRST_BATCH)


def waits_around_loaders(trace: Trace) -> Iterator[tuple[Stage, Int64Array, Int64Array]]:
    """The training thread's waits in iterators that are no recorded loader, by stage: starts and ends."""
    loaders = _names_of_loaders(trace)
    for stage, start, end in _waits_of_iterators(trace) if loaders or threads_beside(trace) else ():
        if stage.label.removesuffix(FIRST_BATCH) not in loaders:
            yield stage, start, end


def _waits_in_loaders_with_a_thread(trace: Trace) -> Iterator[tuple[Stage, Int64Array, Int64Array]]:
    """The same in recorded loaders, where another thread makes their batches (MONAI's ThreadDataLoader, SPDL)."""
    spans = trace.stage_spans
    beside = np.isin(trace.events.track[spans.row], threads_beside(trace))
    is_building = np.logical_or.reduce([spans.is_kind(kind) for kind in ("sample", "transform", "collate")])
    loaders = _names_of_loaders(trace) if (beside & is_building).any() else set()
    for stage, start, end in _waits_of_iterators(trace) if loaders else ():
        if stage.label.removesuffix(FIRST_BATCH) in loaders:
            yield stage, start, end


def _names_of_loaders(trace: Trace) -> set[str]:
    names = {loader.name for loader in trace.info.pipeline.loaders} if trace.info.pipeline else set()
    return names - {""}


def _waits_of_iterators(trace: Trace) -> Iterator[tuple[Stage, Int64Array, Int64Array]]:
    """All waits of the training thread but a DataLoader's own, whatever class it has."""
    spans, events = trace.stage_spans, trace.events
    is_torchs = named_by_loader(trace.names)
    for number, stage in enumerate(spans.stages):
        if stage.kind == "wait":
            rows = spans.row[(spans.stage == number) & (events.track[spans.row] == trace.training_track)]
            rows = rows[~is_torchs[events.name[rows]]]
            yield stage, events.start_ns[rows], events.end_ns[rows]


def find_fed_waits(trace: Trace) -> dict[str, Intervals]:
    """By the label of their iterator."""
    found: dict[str, list[Intervals]] = {}
    may_be_fed = bool(threads_beside(trace)) or bool(trace.info.pipeline and trace.info.pipeline.workers)
    waits = chain(waits_around_loaders(trace), _waits_in_loaders_with_a_thread(trace))
    for stage, start, end in waits if may_be_fed else ():
        alone = trace.stage_spans.inner_waits.overlap(start, end) == 0
        label = stage.label.removesuffix(FIRST_BATCH)
        found.setdefault(label, []).append(Intervals.union(start[alone], end[alone]))
    by_label = {label: Intervals.union_of(sets) for label, sets in found.items()}
    return {label: time for label, time in by_label.items() if len(time)}


def threads_beside(trace: Trace) -> list[int]:
    """Rows of the trace with stages of other threads of the training process; none where processes are unknown."""
    pid = "" if trace.training_track is None else trace.tracks[trace.training_track].pid
    if not pid:
        return []
    with_stages = np.unique(trace.events.track[trace.stage_spans.row]).tolist()
    return [track for track in with_stages if track != trace.training_track and trace.tracks[track].pid == pid]


def _away_ns(between: Int64Array, were_there: npt.NDArray[np.bool_]) -> float:
    """How long the other thread is away from the loader between two batches: as long as it was where the next one had
    arrived already; without any such, at most the least of all times between two batches.
    """
    if were_there.any():
        return float(np.median(between[were_there]))
    return float(between.min()) if len(between) else 0.0


def received_beside(trace: Trace, workers: Workers) -> Iterator[Workers]:
    """By loader, with the waits of the thread that received its batches, in place of the training thread's.

    What the training thread received itself, in a wait of the loader's own, has none. The waits of one loader are
    disjoint; those of two may not be.
    """
    batches, table = workers.batches, workers.batches.table
    beside = ~trace.stage_spans.inner_waits.contains(table.consumed_ns)
    for loader in np.unique(table.loader).tolist():
        start, end = np.full(len(table), UNKNOWN_NS), np.full(len(table), UNKNOWN_NS)
        rows = np.flatnonzero(beside & (table.loader == loader) & known(table.consumed_ns) & known(table.arrived_ns))
        rows = rows[np.argsort(table.consumed_ns[rows], kind="stable")]
        before = table.consumed_ns[rows[:-1]]
        arrived = np.minimum(table.arrived_ns[rows[1:]], table.consumed_ns[rows[1:]])
        sent, taken = table.serialised_ns[rows[1:]], table.deserialise_ns[rows[1:]]
        lay = known(sent) & known(taken) & (taken - sent > PROMPT_NS)
        lay &= sent <= before + _away_ns(table.consumed_ns[rows[1:]] - before, arrived <= before)
        begun = np.where(lay, np.maximum(before, taken), before)
        waited = arrived > begun
        start[rows[1:][waited]], end[rows[1:][waited]] = begun[waited], arrived[waited]
        yield replace(workers, batches=replace(batches, wait_start_ns=start, wait_end_ns=end))
