"""What is part of a span and of no call: its thread waited for a CPU while the recorder read its CPU time.

A thread that has used up its time slice on a busy machine loses its CPU in the system call that reads its CPU time.
That wait ends the span whose work used the slice, so that sums have it in the right place. The call itself had returned
before it: what is said of single calls is without that time.
"""

from __future__ import annotations

import numpy as np

from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.nesting import Nesting
from tb_dataplugin.model.trace import Trace


def readings_by_track(trace: Trace) -> dict[int, Intervals]:
    """When the recorder waited so, by row of the trace. Empty for captures that do not say it."""
    pipeline = trace.info.pipeline
    by_pid = dict(pipeline.cpu_readings) if pipeline else {}
    if not by_pid:
        return {}
    pids = {track: process.pid for track, process in trace.worker_tracks().items()}
    training = trace.training_track
    if training is not None and trace.tracks[training].pid.isdecimal():
        pids[training] = int(trace.tracks[training].pid)
    return {track: by_pid[pid] for track, pid in pids.items() if pid in by_pid}


def reading_ns(trace: Trace, nesting: Nesting, start: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array]:
    """By span, how much of it, and of its self time, lies in such readings. `start`, `end`: of the spans."""
    whole, own = np.zeros(len(start), dtype=np.int64), np.zeros(len(start), dtype=np.int64)
    track = trace.events.track[trace.stage_spans.row]
    for number, readings in readings_by_track(trace).items():
        here = np.flatnonzero(track == number)
        whole[here] = readings.overlap(start[here], end[here])
        pieces = np.flatnonzero(track[nesting.piece_span] == number)
        inside = readings.overlap(nesting.piece_start[pieces], nesting.piece_end[pieces])
        np.add.at(own, nesting.piece_span[pieces], inside)
    return whole, own
