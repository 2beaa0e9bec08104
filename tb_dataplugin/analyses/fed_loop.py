"""Whether another thread than the one that trains takes the batches from the loader."""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace


def is_fed(trace: Trace, window: Window) -> bool:
    """Whether batches are taken from a loader in the window, and not by the training thread. Of a file that is cut off
    nobody knows: its part that is missing may have the training thread's waits.
    """
    pipeline = trace.info.pipeline
    spans = trace.stage_spans
    waits = trace.events.track[spans.row[spans.is_kind("wait") & ~spans.is_iter()]]
    if pipeline is None or trace.is_cut or (waits == trace.training_track).any():
        return False
    consumed = pipeline.batches.consumed_ns if pipeline.batches is not None else np.zeros(0, dtype=np.int64)
    taken = known(consumed) & (consumed >= window.start_ns) & (consumed < window.end_ns)
    return bool(taken.any()) or _builds_elsewhere(trace, window)


def _builds_elsewhere(trace: Trace, window: Window) -> bool:
    """Whether samples are made in the window by threads of the training process that do not train."""
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[spans.is_kind("sample")]
    rows = rows[(events.start_ns[rows] >= window.start_ns) & (events.start_ns[rows] < window.end_ns)]
    samples = trace.info.pipeline.lines if trace.info.pipeline else None
    training = {(str(thread.pid), str(thread.tid)) for thread in samples or () if thread.is_training}
    workers = trace.worker_tracks()
    return bool(training) and any(
        track not in workers and (trace.tracks[track].pid, trace.tracks[track].tid) not in training
        for track in np.unique(events.track[rows]).tolist()
    )
