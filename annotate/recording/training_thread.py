"""The training thread in an open window: what torch's markers cannot say of its spans, and what it spent.

A marker says when a span began and ended. `span_recorder` keeps a row inside each marker of the thread that opened the
window: CPU time, dataset index, bytes of the result. When the trace is written, a marker finds its row by name and
time (`trace.arguments`).
"""

from __future__ import annotations

import struct
import time
from _thread import get_ident
from statistics import median
from time import thread_time_ns
from typing import Any, Final

from annotate.host import garbage
from annotate.host.children import Children, lasting_ns, passing_ns, read_children
from annotate.host.meter import COLUMNS, NOT_TOLD, Meter, Reading, between
from annotate.recording import file_names, marked_spans, other_threads, span_recorder, switch
from annotate.recording.rows import read_readings, read_rows
from annotate.trace_format import ThreadCosts

_PROBE: Final = "annotate: cost of one marker"
_BUFFERED: Final = 4096
"""Spans kept as Python numbers before they are packed into 24 bytes each."""


class Ledger:
    """The records of one window."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._is_open = False
        self._thread = 0
        self._cpu = 0
        self._meter: Meter | None = None
        self._before: Reading = NOT_TOLD
        self._children: Children | None = None
        self.elsewhere: list[other_threads.ThreadSpan] = []
        """Spans that ran in other threads, in the window that was closed last."""
        self.lost_elsewhere = 0
        """Spans of other threads that were too many to keep."""
        self.files: list[file_names.SampleFiles] = []
        """Files of the slowest samples of that window."""
        self.collections: list[tuple[int, int]] = []
        """Beginning and end of each collection of garbage in this thread, in that window."""
        self.collections_elsewhere: list[tuple[int, int]] = []
        """The same of the other threads, for which this one waits when it needs Python."""
        self.costs: ThreadCosts | None = None
        """Of the window that was closed last; None where the system does not report it."""

    def open(self) -> None:
        """Record the calling thread. torch's marker must have been chosen (`switch.load_marker`)."""
        self._packed, self.costs = [], None
        self._is_open = True
        self._children = read_children()
        self._thread, self._meter = get_ident(), Meter()
        self._before, self._cpu = self._meter.read(), thread_time_ns()
        garbage.remember(self._thread)
        span_recorder.attach(self._pack, _always, _BUFFERED)
        switch.install(marked_spans.TRAINING_THREAD)

    def close(self) -> None:
        """Record no more. Harmless when not open."""
        if self._is_open:
            self._is_open = False
            try:
                switch.install(switch.TORCH_MARKERS)
                self._pack()
                self.files = file_names.take()
                self.elsewhere, self.lost_elsewhere = other_threads.take(), other_threads.lost
                self.costs = self._costs()
            finally:
                garbage.remember(0)
                self.collections, self.collections_elsewhere = garbage.collections, garbage.elsewhere
                span_recorder.detach()
                if self._meter is not None:
                    self._meter.close()

    def rows(self) -> Any:
        """What was recorded in the window, as `rows.read_rows` gives it."""
        return read_rows(b"".join(self._packed))

    def readings(self) -> Any:
        """As `rows.read_readings` gives them."""
        return read_readings(b"".join(self._packed))

    def _costs(self) -> ThreadCosts | None:
        meter = self._meter
        if meter is None:
            return None
        cpu = thread_time_ns() - self._cpu
        spent = between(self._before, meter.read())
        delay, collecting, process = (
            spent[COLUMNS.index(column)] for column in ("run_delay_us", "gc_us", "process_cpu_us")
        )
        if get_ident() != self._thread or delay < 0:  # closed by another thread, whose CPU time is another
            return None
        costs: ThreadCosts = {"cpu_us": cpu / 1000, "run_delay_us": delay / 1000, "gc_us": collecting / 1000}
        if process >= 0:
            costs["process_cpu_us"] = process / 1000
        before, now = self._children, read_children()
        if before is not None and now is not None:
            costs["passing_children_cpu_us"] = passing_ns(before, now) / 1000
            costs["lasting_children_cpu_us"] = lasting_ns(before, now) / 1000
            costs["loader_worker_pids"] = sorted({*before.loader_workers, *now.loader_workers})
        return costs

    def _pack(self) -> None:
        span_recorder.flushed()
        try:
            self._packed.append(span_recorder.take_rows())
        except struct.error:  # a number beyond 64 bits
            span_recorder.rows.clear()


def _always() -> bool:
    return True


def _nothing() -> None:
    pass


def cost_of_a_marker_us() -> float:
    """Microseconds that one wrapped call costs here and now: the median of five times twenty calls of a function
    that does nothing.

    Made while the profiler records, because only then do markers cost what they cost; the hundred of them stand at
    the beginning of the window under a name that is no stage, and take about 0.1 ms.
    """
    costs = []
    switch.set_recording(True)
    for _ in range(5):
        begin = time.perf_counter_ns()
        for _ in range(20):
            switch.call(_PROBE, _nothing, (), {})
        costs.append((time.perf_counter_ns() - begin) / 20_000)
    switch.set_recording(False)
    return median(costs)
