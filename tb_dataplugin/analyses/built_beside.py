"""A DataLoader without workers that another thread of the program iterates: that thread builds the batches, beside the
steps, and the training thread waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.fed_waits import find_fed_waits, threads_beside
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace

WHOLE: Final = ("sample", "collate")
"""Kinds of stages that show who builds: a thread may transform what others have built."""

MOST: Final = 0.5


@dataclass(frozen=True, slots=True)
class BuiltBeside:
    """`threads` build the loop's batches. `building_ns`: of the window, in their stages, all of them together."""

    threads: int
    building_ns: int

    @property
    def building_us(self) -> float:
        return self.building_ns / 1e3


def find_built_beside(results: Results) -> BuiltBeside | None:
    """None where DataLoader workers or the training thread build the batches, or nobody knows who does."""
    trace, waits = results.trace, results.loop.waits
    if results.settings is None or results.settings.num_workers != 0 or not waits.total_ns:
        return None
    fed = _fed(trace)
    if fed.intersect(waits).total_ns < MOST * waits.total_ns:
        return None
    times = [_building(trace, track).clip(results.window).total_ns for track in threads_beside(trace)]
    building = [time for time in times if time]
    return BuiltBeside(len(building), sum(building)) if building else None


def _fed(trace: Trace) -> Intervals:
    """Waits for another thread, without those in which the training thread builds batches itself."""
    fed, events, spans = Intervals.union_of(find_fed_waits(trace).values()), trace.events, trace.stage_spans
    rows = spans.row[np.logical_or.reduce([spans.is_kind(kind) for kind in WHOLE])]
    mine = rows[events.track[rows] == trace.training_track]
    built = Intervals.union(events.start_ns[mine], events.end_ns[mine]).overlap(fed.start, fed.end) > 0
    return Intervals.union(fed.start[~built], fed.end[~built])


def _building(trace: Trace, track: int) -> Intervals:
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[np.logical_or.reduce([spans.is_kind(kind) for kind in BUILDING])]
    rows = rows[events.track[rows] == track]
    return Intervals.union(events.start_ns[rows], events.end_ns[rows])
