"""How long the training thread waited for batches, and how much of that the device was idle for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH, ITER
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.fed_loop import is_fed
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window, int64
from tb_dataplugin.model.trace import Trace

WaitSource = Literal["prof.steps", "DataLoader", "annotate.stage"]
"""Where the data wait was taken: in the iterator of ``prof.steps``; in DataLoader's ``next()`` (and ``iter()``, where
that was recorded); in a span of the user's own of the kind `wait`.
"""

TORCHS_WAIT: Final = "enumerate("
"""Begins the names of torch's own waits."""


@dataclass(frozen=True, slots=True)
class LoaderWait:
    """`waits` is the union of the training thread's wait spans in the window; `duration_ns` is per wait for a batch,
    clipped to it.

    `exposed` is the part of `waits` in which the first device was idle; None on captures without a device.
    `first_batches`: the waits that followed an ``iter(loader)``; None when the trace does not tell them apart. `made`:
    of `waits`, those in ``iter(loader)`` alone. `has_iter`: what it took is in the waits.
    """

    waits: Intervals
    duration_ns: Int64Array
    exposed: Intervals | None
    first_batches: Intervals | None
    source: WaitSource
    made: Intervals = EMPTY
    has_iter: bool = False

    @property
    def exposed_ns(self) -> int | None:
        return None if self.exposed is None else self.exposed.total_ns

    @property
    def hidden_ns(self) -> int | None:
        """The rest of the data wait: the device was busy."""
        return None if self.exposed is None else self.waits.total_ns - self.exposed.total_ns

    @property
    def p50_ns(self) -> float:
        return float(np.percentile(self.duration_ns, 50))

    @property
    def max_ns(self) -> int:
        return int(self.duration_ns.max())


def find_loader_wait(trace: Trace, window: Window, devices: tuple[DeviceIdle, ...]) -> LoaderWait | Unavailable:
    if is_fed(trace, window):
        message = (
            "Another thread than the one that trains takes the batches from the DataLoader, so how long the training "
            "waits for them is unknown: pass the DataLoader to annotate.loader, and loop over prof.steps(...) of "
            "annotate.profile in the thread that trains, to see it"
        )
        return Unavailable("loader", "fed_by_thread", message)
    spans, events = trace.stage_spans, trace.events
    here = spans.is_kind("wait") & (events.track[spans.row] == trace.training_track)
    if trace.is_cut and not here.any() and not trace.device_ids():  # these stand below all records of the host
        message = (
            "The file is cut off before the training thread's records of the DataLoader, so the data wait is unknown: "
            "if a job is still writing it, wait; else capture again"
        )
        return Unavailable("loader", "cut_off_before_waits", message)
    if trace.training_track is None:
        message = (
            "No thread has spans of steps or of a DataLoader, so the data wait is unknown: "
            "iterate a DataLoader while the profiler records"
        )
        return Unavailable("loader", "no_training_thread", message)
    start = np.maximum(events.start_ns[spans.row[here]], window.start_ns)
    end = np.minimum(events.end_ns[spans.row[here]], window.end_ns)
    inside = end > start
    if not inside.any():
        message = (
            "The training thread has no DataLoader spans, so the data wait is unknown: the loop may use a loader of "
            "its own; put annotate.stage('wait') around the call that gets the batch, or use prof.steps(loader)"
        )
        return Unavailable("loader", "no_loader_spans", message)
    start, end, stage = start[inside], end[inside], spans.stage[here][inside]
    name = events.name[spans.row[here]][inside]
    waits, alone = Intervals.union(start, end), spans.is_iter()[here][inside]
    source = _source(trace, name, end - start)
    return LoaderWait(
        waits=waits,
        duration_ns=(end - start)[_for_batches(trace, start, end, alone)],
        exposed=waits.intersect(devices[0].gaps) if devices else None,
        first_batches=_first_batches(trace, stage, start, end),
        source=source,
        made=Intervals.union(start[alone], end[alone]),
        has_iter=source == "prof.steps" or bool(alone.any()),
    )


def _for_batches(
    trace: Trace, start: Int64Array, end: Int64Array, alone: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which of these waits are for a batch: not those in ``iter()``, nor those in which DataLoader workers ended and no
    batch came: there an epoch was over. All where that leaves none.
    """
    pipeline = trace.info.pipeline
    table, workers = (pipeline.batches, pipeline.workers) if pipeline else (None, ())
    if alone.all() or table is None:
        return ~alone if not alone.all() else alone
    ended = int64([worker.ended_ns for worker in workers if worker.ended_ns is not None])
    over = _has_any(ended, start, end) & ~_has_any(table.received_ns, start, end)
    return ~alone & ~over if (~alone & ~over).any() else ~alone


def _has_any(times: Int64Array, start: Int64Array, end: Int64Array) -> npt.NDArray[np.bool_]:
    ordered = np.sort(times)
    return np.searchsorted(ordered, end, side="right") > np.searchsorted(ordered, start)


def named_by_loader(names: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """Which names of waits are of a DataLoader's own ``next()`` or ``iter()``."""
    return np.array([name.startswith(TORCHS_WAIT) or name.endswith(ITER) for name in names], dtype=np.bool_)


def _source(trace: Trace, name: npt.NDArray[np.int32], duration: Int64Array) -> WaitSource:
    """Where the training loop's data wait was taken, or else most of all. `name`, `duration`: of each wait."""
    is_torchs = named_by_loader(trace.names)[name]
    pipeline = trace.info.pipeline
    is_stepped = pipeline is not None and any(loader.stepped for loader in pipeline.loaders)
    if is_stepped and not is_torchs.all():  # others, as those of an evaluation, are not the loop's
        return "prof.steps"
    if 2 * int(duration[is_torchs].sum()) >= int(duration.sum()):
        return "DataLoader"
    marks_first = any(known.label.endswith(FIRST_BATCH) for known in trace.stage_spans.stages)
    return "prof.steps" if marks_first or is_stepped else "annotate.stage"


def _first_batches(trace: Trace, stage: npt.NDArray[np.int32], start: Int64Array, end: Int64Array) -> Intervals | None:
    """By their marks, or else by the records of batches: each epoch's begins with number 0."""
    pipeline = trace.info.pipeline
    if pipeline is None:
        return None
    marked = np.array([known.label.endswith(FIRST_BATCH) for known in trace.stage_spans.stages], dtype=np.bool_)[stage]
    if not marked.any() and pipeline.batches is not None and len(start):
        consumed = pipeline.batches.received_ns[pipeline.batches.number == 0]
        by_start = np.argsort(start)
        wait = by_start[np.maximum(np.searchsorted(start[by_start], consumed, side="right") - 1, 0)]
        marked[wait[(consumed >= start[wait]) & (consumed <= end[wait])]] = True
    return Intervals.union(start[marked], end[marked]) if marked.any() else None
