"""Host and device counters as charts of the timeline: which series share a lane, in what unit, how high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import CounterSeries

PERCENT: Final = "%"

TITLES: Final[dict[str, tuple[str, str]]] = {
    "host::cpu": ("CPU cores", PERCENT),
    "host::throttled": ("CPU withheld by quota", "us/s"),
    "host::memory": ("Memory", "bytes"),
    "host::disk": ("Disk", "bytes/s"),
    "host::disk_busy": ("Disk busy", PERCENT),
    "host::network": ("Network", "bytes/s"),
    "host::reads": ("Reads of this job", "bytes/s"),
    "device::utilisation": ("Device utilisation", PERCENT),
    "device::memory": ("Device memory", "bytes"),
}
"""Per counter of `trace_format.COUNTERS`: the lane's title and unit, in the order of the lanes."""

LINE_NAMES: Final = {"rchar": "all reads", "read": "read from storage"}
SUFFIXES: Final = ("_bytes_per_s", "_per_s", "_bytes")
MAX_POINTS: Final = 250
"""Points of a line in one picture: a host is sampled far less often than there are pixels."""


@dataclass(frozen=True, slots=True)
class CounterLine:
    """One line of a chart: values at times (ns, ascending; several at one time are one point with a spread)."""

    name: str
    time_ns: Int64Array
    value: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CounterChart:
    """`top` is the value at the upper edge (0: none is above 0), `unit` what all values are in."""

    id: str
    title: str
    unit: str
    top: float
    lines: tuple[CounterLine, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Samples of a line, those of one bucket as one point; columns of equal length."""

    time_ns: Int64Array
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]


def counter_charts(counters: Sequence[CounterSeries]) -> list[CounterChart]:
    """One chart per counter that has samples, known ones in the order of `TITLES`."""
    names = sorted({series.counter for series in counters}, key=lambda name: (name not in TITLES, name))
    order = [name for name in TITLES if name in names] + [name for name in names if name not in TITLES]
    charts = [_chart(name, [series for series in counters if series.counter == name]) for name in order]
    return [chart for chart in charts if chart.lines]


def _chart(counter: str, series: Sequence[CounterSeries]) -> CounterChart:
    title, unit = TITLES.get(counter, (counter, ""))
    finite = [_line(one) for one in series]
    lines = [line for line in finite if len(line.time_ns)]
    if counter == "host::cpu" and lines:
        lines = [_joined(f"mean of {len(lines)} cores, and their spread", lines)]
    highest = max((0.0, *(float(line.value.max()) for line in lines)))
    top = 100.0 if unit == PERCENT else highest
    return CounterChart(f"counter:{counter}", title, unit, top, tuple(lines))


def _line(series: CounterSeries) -> CounterLine:
    usable = np.isfinite(series.value)
    name = series.series
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return CounterLine(LINE_NAMES.get(name, name), series.time_ns[usable], series.value[usable])


def _joined(name: str, lines: Sequence[CounterLine]) -> CounterLine:
    time = np.concatenate([line.time_ns for line in lines])
    order = np.argsort(time, kind="stable")
    return CounterLine(name, time[order], np.concatenate([line.value for line in lines])[order])


def slice_line(line: CounterLine, window: Window, points: int = MAX_POINTS) -> Points:
    """About `points` points in `window` at most, and the nearest time on either side: a line crosses its edges."""
    first, last = np.searchsorted(line.time_ns, (window.start_ns, window.end_ns))
    if first > 0:
        first = np.searchsorted(line.time_ns, line.time_ns[first - 1])
    if last < len(line.time_ns):
        last = np.searchsorted(line.time_ns, line.time_ns[last], side="right")
    time, value = line.time_ns[first:last], line.value[first:last]
    if not len(time):
        return Points(time, value, value, value)
    bucket = np.floor_divide(time, max(1, window.duration_ns // points))
    starts = np.flatnonzero(np.concatenate(([True], bucket[1:] != bucket[:-1])))
    sizes = np.diff(starts, append=len(time))
    middle = time[starts] + (time[starts + sizes - 1] - time[starts]) // 2
    mean = np.add.reduceat(value, starts) / sizes
    return Points(middle, np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts), mean)
