"""What torch's markers cannot say of the training thread's own spans: CPU time, dataset index, bytes of the result.

A marker tells when a span began and ended. While a window is open, the recorder of the workers (`_recorder`) keeps a
record inside each marker of the thread that opened the window. When the trace is written, a marker finds its record by
name and time, and gets the record's arguments.
"""

from __future__ import annotations

import struct
from _thread import get_ident
from collections.abc import Callable
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, Final

from annotate.host.meter import COLUMNS, NOT_TOLD, Meter, Reading, between
from annotate.recording import span_recorder, switch
from annotate.recording.rows import cpu_ns, enclosing_index, is_sample, name_numbers
from annotate.trace.clock import Clock
from annotate.trace_format import ARG_BYTES, ARG_CPU_US, ARG_INDEX, ThreadCosts
from annotate.workers import spool

if TYPE_CHECKING:
    import numpy.typing as npt

_BUFFERED: Final = 4096
"""Spans kept as Python numbers before they are packed into 32 bytes each."""
_SLACK_NS: Final = 1_000
"""By which a record may stick out of its marker: the two clocks are matched to less than that."""

ArgsOf = Callable[[str, int, int], str]
"""Marker name, start and duration (ns of the trace) -> JSON text of arguments, each with a comma behind it."""


class Ledger:
    """The records of one window."""

    def __init__(self, make_methods_again: Callable[[], None]) -> None:
        """
        Args:
            make_methods_again: gives every method that is timed the form that suits the recorder now in force.
        """
        self._make_methods_again = make_methods_again
        self._packed: list[bytes] = []
        self._is_open = False
        self._thread = 0
        self._cpu = 0
        self._meter: Meter | None = None
        self._before: Reading = NOT_TOLD
        self.elsewhere = 0
        """Spans that ran in other threads, where torch keeps no markers, in the window that was closed last."""
        self.costs: ThreadCosts | None = None
        """Of the window that was closed last; None where the system does not tell."""

    def open(self) -> None:
        """Record the calling thread. torch's marker must have been chosen (`switch.load_marker`)."""
        self._packed, self.costs = [], None
        self._is_open = True
        self._thread, self._meter = get_ident(), Meter()
        self._before, self._cpu = self._meter.read(), thread_time_ns()
        span_recorder.torch_marker = switch.marker
        span_recorder.attach(self._pack, _always, _BUFFERED)
        switch.call, switch.sample = span_recorder.call_in_marker, span_recorder.sample_in_marker
        switch.timed, switch.marker = span_recorder.timed_in_marker, span_recorder.SpanInMarker
        self._make_methods_again()

    def close(self) -> None:
        """Record no more. Harmless when not open."""
        if self._is_open:
            self._is_open = False
            switch.call = switch.sample = switch.timed = None
            switch.marker = span_recorder.torch_marker
            self._make_methods_again()
            self._pack()
            self.elsewhere = span_recorder.other_threads
            span_recorder.detach()
            self.costs = self._costs()

    def args_of(self, clock: Clock | None) -> ArgsOf | None:
        """Finds the arguments of markers of the recorded thread; None when there are no records, or no clock."""
        import numpy as np

        rows = np.frombuffer(b"".join(self._packed), dtype=spool.ROW)
        return None if clock is None or not len(rows) else _Records(rows, clock).args_of

    def _costs(self) -> ThreadCosts | None:
        meter, self._meter = self._meter, None
        if meter is None:
            return None
        cpu = thread_time_ns() - self._cpu
        delay = between(self._before, meter.read())[COLUMNS.index("run_delay_us")]
        meter.close()
        if get_ident() != self._thread or delay < 0:  # closed by another thread, whose CPU time is another
            return None
        return {"cpu_us": cpu / 1000, "run_delay_us": delay / 1000}

    def _pack(self) -> None:
        span_recorder.flushed()
        try:
            self._packed.append(span_recorder.take_rows())
        except struct.error:  # a number beyond 64 bits
            span_recorder.rows.clear()


def _always() -> bool:
    return True


class _Records:
    """All records by name, in order of their starts."""

    def __init__(self, rows: npt.NDArray[Any], clock: Clock) -> None:
        import numpy as np

        rows = rows[np.argsort(rows["start"], kind="stable")]
        number = name_numbers(rows)
        names = [switch.HANDED_OUT.get(name, name) for name in span_recorder.names]
        samples = np.array([is_sample(name) for name in names])[number]
        index = enclosing_index(rows, samples)
        size = np.where(samples, span_recorder.UNKNOWN, rows["extra"])
        columns = (clock.ts_ns(rows["start"]), clock.ts_ns(rows["end"]), cpu_ns(rows), index, size)
        self._of: Final = {
            span_recorder.names[one]: tuple(column[number == one] for column in columns) for one in np.unique(number)
        }

    def args_of(self, name: str, start: int, duration: int) -> str:
        """Of the record that begins next to the marker: those of spans of the same name inside it come later."""
        if name not in self._of:
            return ""
        starts, ends, cpu, index, size = self._of[name]
        at = int(starts.searchsorted(start - _SLACK_NS))
        if at + 1 < len(starts) and abs(starts[at + 1] - start) < abs(starts[at] - start):
            at += 1
        if at == len(starts) or ends[at] > start + duration + _SLACK_NS:
            return ""
        args = f'"{ARG_CPU_US}": {cpu[at] / 1000:.1f}, '
        for key, value in ((ARG_INDEX, index[at]), (ARG_BYTES, size[at])):
            args += f'"{key}": {value}, ' if value >= 0 else ""
        return args
