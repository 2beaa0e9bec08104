"""Where the host waited for the device: which calls, inside which operator, and what the drained queue cost.

While the host waits, it launches nothing. When the device has finished, it idles until the host has come back and
launched again: a gap that begins inside a synchronising call is the price of it, as far as the host then was in the
call, in operators or in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.host_activity import Mask, outermost_rows, read_host_activity
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.launches import Rows
from tb_dataplugin.analyses.stages import groups
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import Trace

PRICE: Final[tuple[Cause, ...]] = ("sync", "launch", "host")


@dataclass(frozen=True, slots=True)
class SyncFigures:
    """`calls` start in the window; `drained_ns` is idle time of the first device; `inside` names the outermost
    operators (else the calls themselves) with their number, the most frequent first.
    """

    calls: int
    waited_ns: int
    drained_ns: int
    inside: tuple[tuple[str, int], ...]


def find_syncs(
    trace: Trace, window: Window, devices: tuple[DeviceIdle, ...], attributed: tuple[DeviceAttribution, ...]
) -> SyncFigures | None:
    """None without a device or without such calls."""
    events = trace.events
    host = read_host_activity(trace)
    rows = np.flatnonzero(host.synchronises)
    rows = rows[(events.start_ns[rows] >= window.start_ns) & (events.start_ns[rows] < window.end_ns)]
    if not devices or not len(rows):
        return None
    waiting = Intervals.union(events.start_ns[rows], events.end_ns[rows])
    gaps = devices[0].gaps
    drained = waiting.contains(gaps.start)
    whole = Intervals.union(gaps.start[drained], gaps.end[drained])
    price = Intervals.union_of(attributed[0].causes.get(cause, EMPTY) for cause in PRICE)
    return SyncFigures(
        calls=len(rows),
        waited_ns=waiting.total_ns,
        drained_ns=price.intersect(whole).total_ns,
        inside=_operators_around(trace, rows, host.launches & events.is_category(Category.CPU_OP)),
    )


def _operators_around(trace: Trace, calls: Rows, operators: Mask) -> tuple[tuple[str, int], ...]:
    events = trace.events
    counts: dict[str, int] = {}
    for track, mine in groups(events.track, calls):
        outermost = outermost_rows(trace, np.flatnonzero(operators & (events.track == track)))
        place = np.searchsorted(events.start_ns[outermost], events.start_ns[mine], side="right") - 1
        around = outermost[np.maximum(place, 0)] if len(outermost) else mine
        inside = (place >= 0) & (events.end_ns[around] >= events.end_ns[mine])
        for number in events.name[np.where(inside, around, mine)].tolist():
            name = trace.names[number]
            counts[name] = counts.get(name, 0) + 1
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
