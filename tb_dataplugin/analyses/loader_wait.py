"""How long the training thread waited for batches, and how much of that the device was idle for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotate.trace_format import FIRST_BATCH
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class LoaderWait:
    """`waits` is the union of the training thread's wait spans in the window; `duration_ns` is per wait, clipped to it.

    `exposed` is the part of `waits` in which the first device was idle; None on captures without a device.
    `first_batch_ns` sums the waits that followed an ``iter(loader)``; None when the trace does not mark them.
    """

    waits: Intervals
    duration_ns: Int64Array
    exposed: Intervals | None
    first_batch_ns: int | None

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
    if trace.training_track is None:
        message = (
            "No thread carries steps or loader spans, so the data wait is unknown: "
            "iterate a DataLoader while the profiler records"
        )
        return Unavailable("loader", "no_training_thread", message)
    spans, events = trace.stage_spans, trace.events
    here = spans.is_kind("wait") & (events.track[spans.row] == trace.training_track)
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
    waits = Intervals.union(start, end)
    return LoaderWait(
        waits=waits,
        duration_ns=end - start,
        exposed=waits.intersect(devices[0].gaps) if devices else None,
        first_batch_ns=_first_batches(trace, stage, end - start),
    )


def _first_batches(trace: Trace, stage: np.ndarray[tuple[int], np.dtype[np.int32]], duration: Int64Array) -> int | None:
    if trace.info.pipeline is None:
        return None
    first = np.array([known.label.endswith(FIRST_BATCH) for known in trace.stage_spans.stages], dtype=np.bool_)
    return int(duration[first[stage]].sum()) if first[stage].any() else None
