"""Whoever holds the batch has the data wait: every waiting nanosecond is passed on to one stage.

In this order:

0. Full collections of Python's garbage in the training process, while no batch is missing (`collector`).
1. The training thread's own deepest stage (a sampler or a wrapper's code inside ``next()``; without DataLoader workers
   everything). A stage that merely encloses another wait does not have that.
2. `wrapper`: the rest of a wait in an iterator around a recorded loader, outside the loader's own waits. In the wait
   for a first batch only what follows the loader's first batch; before it the workers start.
3. `startup`: the rest of a wait in ``iter(loader)`` alone.
4. In a wait for another thread of the process: that thread's stages, and what it waits for itself (`fed_waits`).
5. By the batch received (`batch_shares`): throughput of its DataLoader worker or latency of the batch.
6. What remains is ``other`` where the training thread builds the batches; ``shutdown`` of a wait in which DataLoader
   workers ended (`epoch_ends`); else ``unrecorded``.

Everywhere a stage that waits for other threads of its process passes its time on to their stages (`pool_time`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.trace_format import FIRST_BATCH, parse_span_name
from tb_dataplugin.analyses.batch_shares import share_by_batch
from tb_dataplugin.analyses.collector import collected_in
from tb_dataplugin.analyses.epoch_ends import waits_for_ends
from tb_dataplugin.analyses.fed_waits import find_fed_waits, received_beside, threads_beside, waits_around_loaders
from tb_dataplugin.analyses.pool_time import pass_to_threads
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wait_parts import COLLECTOR, OTHER, SHUTDOWN, STARTUP, UNRECORDED, WaitParts
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class WaitShares:
    """The data wait, divided: the sets are disjoint and their union is the data wait.

    `by_span_ns`: per stage span, how much of it that span caused, without the spans inside it. `wrapped`: by its label,
    the part of `by_stage` that is the own code of an iterator without spans.
    """

    by_stage: dict[str, Intervals]
    by_span_ns: Int64Array
    wrapped: dict[str, Intervals]


def share_out(trace: Trace, tree: StageTree, waits: Intervals, workers: Workers | None) -> WaitShares | Unavailable:
    if not len(waits) or trace.training_track is None:
        return Unavailable("wait_by_stage", "no_data_wait", "There is no data wait to pass on to stages")
    parts = WaitParts(pass_to_threads(trace, tree))
    unknown = workers is None and _has_workers(trace)  # when each batch was finished
    collected = EMPTY if unknown else collected_in(waits, trace, tree, workers)
    parts.add(COLLECTOR, collected)
    rest = parts.add_stages(trace.training_track, waits.minus(collected))
    built_here = Intervals.union_of(time for name, time in parts.by_stage().items() if _builds(name))
    for label, time in _wrapper_times(trace).items():
        wrapped = rest.intersect(time)
        parts.add_wrapper(label, wrapped)
        rest = rest.minus(wrapped)
    rest = _share_iter(trace, rest, parts)
    rest = _share_fed(trace, workers, rest, parts)
    if workers is not None:
        rest = share_by_batch(trace, workers, rest, parts)
    _share_rest(trace, waits, rest, built_here, parts, workers)
    by_stage = parts.by_stage()
    if workers is None and by_stage.keys() <= {COLLECTOR, OTHER, STARTUP, UNRECORDED}:
        return _no_stages()
    return WaitShares(by_stage, parts.by_span_ns, parts.wrapped())


def _share_iter(trace: Trace, rest: Intervals, parts: WaitParts) -> Intervals:
    """Gives waits in ``iter(loader)`` alone to the start of its workers; what is left of all waits."""
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[spans.is_iter() & (events.track[spans.row] == trace.training_track)]
    made = Intervals.union(events.start_ns[rows], events.end_ns[rows])
    parts.add(STARTUP, rest.intersect(made))
    return rest.minus(made)


def _share_fed(trace: Trace, workers: Workers | None, rest: Intervals, parts: WaitParts) -> Intervals:
    """Passes on waits for other threads of the training process; what is left of all waits."""
    for label, time in find_fed_waits(trace).items():
        fed = rest.intersect(time)
        rest = rest.minus(fed)
        for track in threads_beside(trace):
            fed = parts.add_stages(track, fed)
        for received in () if workers is None else received_beside(trace, workers):
            fed = share_by_batch(trace, received, fed, parts)
        parts.add_wrapper(label, fed)
    return rest


def _builds(name: str) -> bool:
    stage = parse_span_name(name)
    return stage is None or stage.kind not in ("sampler", "wrapper")


def _share_rest(
    trace: Trace, waits: Intervals, rest: Intervals, built_here: Intervals, parts: WaitParts, workers: Workers | None
) -> None:
    """Of waits for batches without a record: time between stages, where any of their wait shows stages of building."""
    if not _has_workers(trace):
        parts.add(OTHER, rest)
        return
    shows = built_here.overlap(waits.start, waits.end) > 0
    here = Intervals.union(waits.start[shows], waits.end[shows])
    parts.add(OTHER, rest.intersect(here))
    rest = rest.minus(here)
    stopping = waits_for_ends(trace, waits, workers)
    parts.add(SHUTDOWN, rest.intersect(stopping))
    parts.add(UNRECORDED, rest.minus(stopping))


def _has_workers(trace: Trace) -> bool:
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.mode == "replay":
        return False
    return bool(pipeline.workers) or any(loader.num_workers for loader in pipeline.loaders)


def _wrapper_times(trace: Trace) -> dict[str, Intervals]:
    """By the label of a wait that is no recorded loader's and contains other waits: its time outside of them."""
    inner = trace.stage_spans.inner_waits
    found: dict[str, list[Intervals]] = {}
    for stage, start, end in waits_around_loaders(trace) if len(inner) else ():
        label = stage.label.removesuffix(FIRST_BATCH)
        contains = inner.overlap(start, end) > 0
        start, end = start[contains], end[contains]
        if stage.label.endswith(FIRST_BATCH) and len(start):
            start = np.minimum(inner.end[np.searchsorted(inner.end, start, side="right")], end)
        found.setdefault(label, []).append(Intervals.union(start, end).minus(inner))
    return {label: Intervals.union_of(sets) for label, sets in found.items()}


def _no_stages() -> Unavailable:
    message = (
        "No stage stands inside the data wait, so the wait cannot be passed on to a stage: annotate the loader with "
        "annotate.loader(loader) and capture again with annotate.profile"
    )
    return Unavailable("wait_by_stage", "no_stages_in_wait", message)
