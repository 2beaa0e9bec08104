"""Which runtime call launched a device activity, and which launch ended an idle gap.

A gap ends with the first lasting activity that starts at its end. Its launch is the runtime call with the same
correlation id: of several, the latest that starts no later than the activity (ids are reused in long captures); where
clocks disagree so far that all of them start later, the earliest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category, EventTable
from tb_dataplugin.model.intervals import Int64Array, Intervals, distinct
from tb_dataplugin.model.trace import Trace

NONE = -1

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class GapEnds:
    """Per gap: row of the activity that ended it and of the call that launched that; `NONE` where there is none."""

    activity: Rows
    launch: Rows


def launches_of(events: EventTable, activity: Rows) -> Rows:
    """Per given row of device activity, the row of its launching runtime call, or `NONE`."""
    calls = np.flatnonzero(events.is_category(Category.RUNTIME) & (events.correlation >= 0))
    asked = events.correlation[activity]
    calls = calls[_any_of(events.correlation[calls], distinct(asked))]
    launch = _last_before(events, calls, activity)
    late = np.flatnonzero((launch == NONE) & (asked >= 0))
    if len(late) and len(calls):
        by_time = calls[np.lexsort((events.start_ns[calls], events.correlation[calls]))]
        first = np.searchsorted(events.correlation[by_time], asked[late], side="left")
        first = by_time[np.minimum(first, len(by_time) - 1)]
        launch[late] = np.where(events.correlation[first] == asked[late], first, NONE)
    return launch


def _any_of(values: Int64Array, ordered: Int64Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the values are in `ordered`."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    is_in: np.ndarray[tuple[int], np.dtype[np.bool_]] = ordered[place] == values
    return is_in


def _last_before(events: EventTable, calls: Rows, activity: Rows) -> Rows:
    """For each activity the last of `calls` with its correlation that starts no later than it."""
    rows = np.concatenate((calls, activity))
    asks = np.concatenate((np.zeros(len(calls), dtype=np.int64), np.ones(len(activity), dtype=np.int64)))
    order = np.lexsort((events.end_ns[rows], asks, events.start_ns[rows], events.correlation[rows]))
    is_call = asks[order] == 0
    latest = np.maximum.accumulate(np.where(is_call, np.arange(len(order)), NONE)) if len(order) else order
    candidate = np.where(latest >= 0, rows[order[np.maximum(latest, 0)]], NONE)
    correlation = events.correlation[rows[order]]
    fits = (candidate >= 0) & (correlation >= 0) & (events.correlation[candidate] == correlation)
    latest_call = np.full(len(rows), NONE, dtype=np.intp)
    latest_call[order] = np.where(fits, candidate, NONE)
    return latest_call[len(calls) :]


def find_gap_ends(trace: Trace, device: int, gaps: Intervals) -> GapEnds:
    """What ended each gap of the device. Nothing ends a gap after which the device did nothing any more.

    Of activities that start together, the one that was launched first counts: it alone would have ended the gap.
    """
    events = trace.events
    lasting = events.is_category(*DEVICE_ACTIVITY) & (events.device == device) & (events.end_ns > events.start_ns)
    activity = np.flatnonzero(lasting)
    launch = launches_of(events, activity)
    launched = _start_of(events, launch, otherwise=np.iinfo(np.int64).max)
    order = np.lexsort((events.correlation[activity], launched, events.start_ns[activity]))
    activity, launch = activity[order], launch[order]
    position = np.searchsorted(events.start_ns[activity], gaps.end, side="left")
    ended = position < len(activity)
    position = np.minimum(position, max(len(activity) - 1, 0))
    nothing = np.full(len(gaps), NONE, dtype=np.intp)
    if not len(activity):
        return GapEnds(nothing, nothing)
    return GapEnds(np.where(ended, activity[position], NONE), np.where(ended, launch[position], NONE))


def _start_of(events: EventTable, rows: Rows, otherwise: int) -> Int64Array:
    return np.where(rows >= 0, events.start_ns[np.maximum(rows, 0)], otherwise)
