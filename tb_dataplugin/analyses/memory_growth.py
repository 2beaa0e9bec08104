"""Memory of the job that grows through the whole window: a leak shows within it, a cache that fills as well.

Resident memory of the training process grows under torch's profiler by itself (`annotate.host.heap` says why), so there
what is in use has to grow too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final

import numpy as np

from tb_dataplugin.model.beside_events import CounterSeries
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace

_COUNTER: Final = "host::processes"
_TRAINING: Final = "training_process_bytes"
_WHO: Final = {_TRAINING: "the training process", "workers_bytes": "the DataLoader workers"}
_QUARTERS: Final = 4
_FEWEST: Final = 3 * _QUARTERS
"""Samples; a quarter's median takes three of them."""
_BYTES, _SHARE = 64e6, 0.05
"""It grew at least by this, and by this share of what it was: what a run allocates once is below that, or ends."""
_PROFILER_BYTES: Final = 400.0
"""That torch's profiler keeps per event until the window ends: 180 to 330 were measured (torch 2.13)."""
_HOST: Final = (Category.CPU_OP, Category.USER_ANNOTATION, Category.RUNTIME, Category.PYTHON, Category.OTHER)
_EVEN: Final = 0.5
"""Growth from quarter to quarter, at least this share of the mean: what fills up slows down."""


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    who: str
    before_bytes: float
    after_bytes: float
    """Medians of the window's first and last quarter."""
    bytes_per_s: float


def find_memory_growth(trace: Trace, window: Window) -> tuple[MemoryGrowth, ...]:
    """Whose memory grew evenly through the window; nobody's where it was not sampled."""
    series = [each for each in trace.counters if each.counter == _COUNTER and each.series in _WHO]
    limit = {_TRAINING: _kept_by_the_program(trace, window), "workers_bytes": _of_workers(trace, window)}
    return tuple(found for each in series for found in _growth(each, window, limit[each.series]))


def _of_workers(trace: Trace, window: Window) -> float:
    """None of a DataLoader worker that began in the window, or less than its length before: it may still touch memory
    anew.
    """
    pipeline = trace.info.pipeline
    since = window.start_ns - window.duration_ns
    is_young = any(worker.started_ns >= since for worker in (pipeline.workers if pipeline else ()))
    return 0.0 if is_young else inf


def _kept_by_the_program(trace: Trace, window: Window) -> float:
    """Bytes that came into use in the training process from the first quarter to the last, less what the trace itself
    may take; 0 where that is unknown.
    """
    grown = trace.info.pipeline.heap_grown_bytes if trace.info.pipeline is not None else None
    if grown is None:
        return 0.0
    events = trace.events
    inside = (events.start_ns >= window.start_ns) & (events.start_ns < window.end_ns)
    recorded = int((events.is_category(*_HOST) & inside).sum())
    return (grown - _PROFILER_BYTES * recorded) * (_QUARTERS - 1) / _QUARTERS


def _growth(series: CounterSeries, window: Window, most: float) -> Iterator[MemoryGrowth]:
    """`most`: what it can have grown by."""
    inside = (series.time_ns >= window.start_ns) & (series.time_ns <= window.end_ns)
    times, values = series.time_ns[inside], series.value[inside]
    if len(values) < _FEWEST:
        return
    medians = [float(np.median(quarter)) for quarter in np.array_split(values, _QUARTERS)]
    grown = medians[-1] - medians[0]
    least = _EVEN * grown / (_QUARTERS - 1)
    kept = min(grown, most)
    if kept < max(_BYTES, _SHARE * medians[0]) or any(later - earlier < least for earlier, later in pairwise(medians)):
        return
    middle = [float(np.mean(quarter)) for quarter in np.array_split(times, _QUARTERS)]
    seconds = (middle[-1] - middle[0]) / 1e9
    yield MemoryGrowth(_WHO[series.series], medians[0], medians[0] + kept, kept / seconds)
