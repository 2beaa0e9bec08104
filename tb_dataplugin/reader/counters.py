"""Host samples: counter events to series."""

from __future__ import annotations

import math

import numpy as np

from annotate.trace_format import COUNTERS
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.limits import MOST_LABEL, MOST_SERIES, over
from tb_dataplugin.model.beside_events import CounterSeries
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.reader.decimals import LONGEST_NS, nanoseconds
from tb_dataplugin.reader.decoding import RawCounter, Window


class CounterBuilder:
    """Collects the series of `trace_format.COUNTERS` from windows; counters of other writers are skipped."""

    def __init__(self, diagnostics: DiagnosticsCollector) -> None:
        self._diagnostics = diagnostics
        self._series: dict[tuple[str, str], tuple[list[int], list[float]]] = {}

    def add(self, window: Window) -> None:
        self._add([event for event in window.counters() if event.ph == "C" and event.name in COUNTERS])

    def _add(self, events: list[RawCounter]) -> None:
        times, good = nanoseconds([event.ts for event in events])
        for event, time, readable in zip(events, times.tolist(), good.tolist(), strict=True):
            for series, value in (event.args or {}).items() if readable else ():
                if isinstance(value, (int, float)) and math.isfinite(value):
                    self._add_value((str(event.name), series), time, float(value))

    def _add_value(self, key: tuple[str, str], time: int, value: float) -> None:
        if key not in self._series:
            if len(self._series) >= MOST_SERIES:
                message = f"The trace has more than {MOST_SERIES:,} series of counters; the rest are skipped"
                over(self._diagnostics, "series", 1, message)
                return
            key = key[0], key[1][:MOST_LABEL]
        at, values = self._series.setdefault(key, ([], []))
        at.append(time)
        values.append(value)

    def series(self, origin_ns: int) -> tuple[CounterSeries, ...]:
        """All series, with times that count from `origin_ns`."""
        known = []
        for (counter, name), (times, values) in sorted(self._series.items()):
            since = [time - origin_ns for time in times]
            near = np.array([abs(time) <= LONGEST_NS for time in since], dtype=np.bool_)
            at, value = int64(np.array(since, dtype=object)[near]), np.asarray(values, dtype=np.float64)[near]
            self._diagnostics.add("absurd_time", "Events with absurd times were skipped", int(np.count_nonzero(~near)))
            order = np.argsort(at, kind="stable")
            if len(order):
                known.append(CounterSeries(counter, name, at[order], value[order]))
        return tuple(known)
