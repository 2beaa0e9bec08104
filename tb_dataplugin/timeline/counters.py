"""Host and device counters as charts of the timeline: which series share a lane, in what unit, how high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.limits import MOST_LINES
from tb_dataplugin.model.beside_events import CounterSeries, holds_until
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.words import counter_order, counter_term, series_label

PERCENT: Final = "%"
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
    """Samples of a line, those of one bucket as one point; columns of equal length. A point holds from its time until
    that of the next one; `mean` is over that time.
    """

    time_ns: Int64Array
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]


def counter_charts(counters: Sequence[CounterSeries]) -> list[CounterChart]:
    """One chart per counter that has samples."""
    names = sorted({series.counter for series in counters}, key=counter_order)
    charts = [_chart(name, [series for series in counters if series.counter == name]) for name in names]
    return [chart for chart in charts if chart.lines]


def _chart(counter: str, series: Sequence[CounterSeries]) -> CounterChart:
    term = counter_term(counter)
    lines = [line for line in map(_line, series) if len(line.time_ns)]
    if counter == "host::cpu" and lines:
        lines = [_joined(f"mean of {len(lines)} cores, and their spread", lines)]
    if len(lines) > MOST_LINES:  # those that reach highest
        lines = sorted(lines, key=lambda line: -float(line.value.max()))[:MOST_LINES]
    highest = max((0.0, *(float(line.value.max()) for line in lines)))
    top = max(100.0, highest) if term.unit == PERCENT else highest
    return CounterChart(f"counter:{counter}", term.label, term.unit, top, tuple(lines))


def _line(series: CounterSeries) -> CounterLine:
    usable = np.isfinite(series.value)
    return CounterLine(series_label(series.series), series.time_ns[usable], series.value[usable])


def _joined(name: str, lines: Sequence[CounterLine]) -> CounterLine:
    time = np.concatenate([line.time_ns for line in lines])
    order = np.argsort(time, kind="stable")
    return CounterLine(name, time[order], np.concatenate([line.value for line in lines])[order])


def slice_line(line: CounterLine, window: Window, points: int = MAX_POINTS) -> Points:
    """About `points` points in `window` at most, and the nearest time on either side: of what holds at its start, and
    until when the last value holds. That of all is never alone: it holds for as long as the one before it.
    """
    first, last = np.searchsorted(line.time_ns, (window.start_ns, window.end_ns))
    if first > 0:
        first = np.searchsorted(line.time_ns, line.time_ns[first - 1])
    if last < len(line.time_ns):
        last = np.searchsorted(line.time_ns, line.time_ns[last], side="right")
    if 0 < first < last == len(line.time_ns) and line.time_ns[first] == line.time_ns[-1]:
        first = np.searchsorted(line.time_ns, line.time_ns[first - 1])
    time, value = line.time_ns[first:last], line.value[first:last]
    if not len(time):
        return Points(time, value, value, value)
    bucket = np.floor_divide(time, max(1, window.duration_ns // points))
    starts = np.flatnonzero(np.concatenate(([True], bucket[1:] != bucket[:-1])))
    held_ns = holds_until(line.time_ns)[first:last] - time
    mean = np.add.reduceat(value * held_ns, starts) / np.add.reduceat(held_ns, starts)
    return Points(time[starts], np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts), mean)
