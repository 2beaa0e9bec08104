"""How busy the machine was during the window, by its counters (`trace_format.COUNTERS`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.beside_events import CounterSeries, holds_until
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.words import counter_order, counter_term, series_label

CPU: Final = "host::cpu"


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """One series of a counter over the window, in the counter's unit."""

    counter: str
    series: str
    samples: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One line of the table of host load. All cores are one line."""

    counter: str
    title: str
    unit: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HostLoad:
    """`cpu_busy` is a fraction, the mean over the cores that the process may use; None where it was not sampled.

    `disk` is the busiest block device, `disk_busy` the fraction of the time in which it had requests in flight.
    """

    series: tuple[SeriesSummary, ...]
    rows: tuple[LoadRow, ...]
    cpu_busy: float | None
    cores: int
    disk: str = ""
    disk_busy: float | None = None


def find_host_load(trace: Trace, window: Window) -> HostLoad | Unavailable:
    series = tuple(summary for counter in trace.counters if (summary := _summarise(counter, window)) is not None)
    if not series:
        message = "The trace has no samples of the host in the window, so its load is unknown"
        return Unavailable("capture", "no_host_samples", message)
    cores = [summary.mean for summary in series if summary.counter == CPU]
    disks = (summary for summary in series if summary.counter == "host::disk_busy")
    busiest = max(disks, key=lambda summary: summary.mean, default=None)
    return HostLoad(
        series=series,
        rows=tuple(_rows(series)),
        cpu_busy=float(np.mean(cores)) / 100 if cores else None,
        cores=len(cores),
        disk=busiest.series if busiest else "",
        disk_busy=busiest.mean / 100 if busiest else None,
    )


def _rows(series: Sequence[SeriesSummary]) -> Iterator[LoadRow]:
    """Known counters in their order, then the others."""
    for counter in sorted({summary.counter for summary in series}, key=counter_order):
        term, lines = counter_term(counter), [summary for summary in series if summary.counter == counter]
        if counter == CPU and len(lines) > 1:
            mean = sum(summary.mean for summary in lines) / len(lines)
            low, high = min(summary.low for summary in lines), max(summary.high for summary in lines)
            yield LoadRow(counter, f"{term.label}, mean of {len(lines)} cores", term.unit, mean, low, high)
            continue
        for summary in lines:
            title = term.label if len(lines) == 1 else f"{term.label}: {series_label(summary.series)}"
            yield LoadRow(counter, title, term.unit, summary.mean, summary.low, summary.high)


def _summarise(counter: CounterSeries, window: Window) -> SeriesSummary | None:
    """The mean is over time: each value counts for as long as it holds within the window."""
    until = np.minimum(holds_until(counter.time_ns), window.end_ns)
    held_ns = until - np.maximum(counter.time_ns, window.start_ns)
    inside = held_ns > 0
    values = counter.value[inside]
    if not len(values):
        return None
    return SeriesSummary(
        counter=counter.counter,
        series=counter.series,
        samples=len(values),
        mean=float(np.average(values, weights=held_ns[inside])),
        low=float(values.min()),
        high=float(values.max()),
    )
