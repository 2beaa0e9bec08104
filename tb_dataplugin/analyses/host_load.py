"""How busy the machine was during the window, by its counters (`trace_format.COUNTERS`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import CounterSeries, Trace


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
class HostLoad:
    """`cpu_busy` is a fraction, the mean over the cores that the process may use; None where it was not sampled.

    `throttled` is CPU time that the cgroup's quota withheld, as seconds per second. `disk` is the busiest block device,
    `disk_busy` the fraction of the time in which it had requests in flight.
    """

    series: tuple[SeriesSummary, ...]
    cpu_busy: float | None
    cores: int
    throttled: float | None
    disk: str = ""
    disk_busy: float | None = None


def find_host_load(trace: Trace, window: Window) -> HostLoad | Unavailable:
    series = tuple(one for counter in trace.counters if (one := _summarise(counter, window)) is not None)
    if not series:
        message = "The trace has no samples of the host in the window, so its load is unknown"
        return Unavailable("capture", "no_host_samples", message)
    cores = [one.mean for one in series if one.counter == "host::cpu"]
    throttled = [one.mean for one in series if one.counter == "host::throttled"]
    busiest = max((one for one in series if one.counter == "host::disk_busy"), key=lambda one: one.mean, default=None)
    return HostLoad(
        series=series,
        cpu_busy=float(np.mean(cores)) / 100 if cores else None,
        cores=len(cores),
        throttled=throttled[0] / 1e6 if throttled else None,
        disk=busiest.series if busiest else "",
        disk_busy=busiest.mean / 100 if busiest else None,
    )


def _summarise(counter: CounterSeries, window: Window) -> SeriesSummary | None:
    """A sample stands for the time since the one before it; those within the window count."""
    inside = (counter.time_ns >= window.start_ns) & (counter.time_ns <= window.end_ns)
    values = counter.value[inside]
    if not len(values):
        return None
    return SeriesSummary(
        counter=counter.counter,
        series=counter.series,
        samples=len(values),
        mean=float(values.mean()),
        low=float(values.min()),
        high=float(values.max()),
    )
