"""What a host thread was doing, as far as it decides why a device idles.

*in a copy*: inside an `h2d` stage, or a runtime call that copies from host to device.
*synchronising*: blocked in a runtime call that waits for the device: every ``...Synchronize``, and a copy from device
to host whose call lasts until the copy is over (what ``tensor.item()`` does).
*communicating*: synchronising inside the span of a collective, or inside one that runs on the host (gloo, MPI, UCC).
*launching*: inside an operator or any other runtime call.
*unclear*: inside a runtime call that copies, when no copy can be linked to its call: it may be any of these.
*recorded*: from the thread's first host span to its last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.launches import NONE, Rows, launches_of
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.trace import Trace

_CALL = r"(?:cuda|cu|hip|xpu|ze|ur|mtia)(?=\w*\Z)\w*"
"""The lookahead keeps the time for a name in proportion to its length: what follows it never backtracks."""

_SYNCHRONISES = re.compile(_CALL + r"(Synchronize|EventWait|QueueFinish)\w*")
"""``cudaDeviceSynchronize``, ``hipStreamSynchronize``, ``cuCtxSynchronize``, ``zeEventHostSynchronize``,
``urQueueFinish``. ``cudaStreamWaitEvent`` is none: it makes the stream wait, not the host."""

_TO_DEVICE = re.compile(r"HtoD|HostToDevice|M2D")
_TO_HOST = re.compile(r"DtoH|DeviceToHost|D2M")

_COPIES = re.compile(_CALL + r"[Mm]em(ory)?[Cc]o?py\w*")
_ANY_NAME = re.compile(r".+", re.DOTALL)

_COLLECTIVE = re.compile(r"(nccl|rccl|xccl|c10d|gloo|mpi|ucc):.*|record_param_comms")
_HOST_COLLECTIVE = re.compile(r"(gloo|mpi|ucc):.*")

_OPERATOR = re.compile(r"[A-Za-z_]\w*::.*|.*Backward\d*|detach|[a-z]+_")
"""Operators among the host spans of torch 1.8 to 1.11, which file the user's own spans in the same category, and those
around an optimizer's ``step`` and ``zero_grad``: the thread is in Python for most of these, and no operator.
"""

_HOST_SPANS = (Category.CPU_OP, Category.USER_ANNOTATION)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ThreadActivity:
    """Sets of time of one thread; they overlap."""

    copying: Intervals
    synchronising: Intervals
    communicating: Intervals
    launching: Intervals
    unclear: Intervals
    recorded: Intervals


NOTHING_RECORDED = ThreadActivity(EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY)


@dataclass(frozen=True, slots=True)
class HostActivity:
    """Looks at one thread at a time. Masks are over the rows of the event table."""

    trace: Trace
    copies_in: Mask
    synchronises: Mask
    collective: Mask
    host_collective: Mask
    launches: Mask
    unclear: Mask
    host_span: Mask

    def of_thread(self, track: int) -> ThreadActivity:
        mine = self.trace.events.track == track

        def during(rows: Mask) -> Intervals:
            chosen = np.flatnonzero(mine & rows)
            return Intervals.union(self.trace.events.start_ns[chosen], self.trace.events.end_ns[chosen])

        synchronising = during(self.synchronises)
        spans = during(self.host_span)
        ends = ([int(spans.start[0])], [int(spans.end[-1])]) if len(spans) else ([], [])
        return ThreadActivity(
            copying=during(self.copies_in),
            synchronising=synchronising,
            communicating=Intervals.union_of(
                (synchronising.intersect(during(self.collective)), during(self.host_collective))
            ),
            launching=during(self.launches),
            unclear=during(self.unclear),
            recorded=Intervals.union(*ends),
        )

    @property
    def has_calls(self) -> bool:
        """Whether runtime calls were recorded at all, with names: without them launching and waiting look alike."""
        calls = self.trace.events.is_category(Category.RUNTIME) & matching(self.trace, _ANY_NAME)
        return bool(calls.any())

    @property
    def has_clear_copies(self) -> bool:
        return not self.unclear.any()

    @property
    def has_spans(self) -> bool:
        return bool(self.host_span.any())


def read_host_activity(trace: Trace) -> HostActivity:
    events = trace.events
    runtime = events.is_category(Category.RUNTIME)
    copies_in, copies_out = _copy_calls(trace)
    host_span = events.is_category(*_HOST_SPANS) & (events.device < 0)
    stages = trace.stage_spans
    h2d = np.zeros(len(events), dtype=np.bool_)
    h2d[stages.row[stages.is_kind("h2d")]] = True
    return HostActivity(
        trace=trace,
        copies_in=copies_in | h2d,
        synchronises=synchronising_calls(trace) | copies_out,
        collective=host_span & matching(trace, _COLLECTIVE),
        host_collective=host_span & matching(trace, _HOST_COLLECTIVE),
        launches=runtime | _operators(trace),
        unclear=_unclear_copies(trace),
        host_span=host_span,
    )


def synchronising_calls(trace: Trace) -> Mask:
    """Runtime calls that wait for the device by their nature."""
    return trace.events.is_category(Category.RUNTIME) & matching(trace, _SYNCHRONISES)


def matching(trace: Trace, pattern: re.Pattern[str]) -> Mask:
    """Which events have a name that the pattern matches from its beginning to its end."""
    matches = np.array([pattern.fullmatch(name) is not None for name in trace.names], dtype=np.bool_)
    return matches[trace.events.name] if len(matches) else np.zeros(0, dtype=np.bool_)


def _unclear_copies(trace: Trace) -> Mask:
    """Runtime calls that copy, if not one copy in the trace can be linked to its call."""
    rows = np.concatenate((copy_rows(trace, to_device=True), copy_rows(trace, to_device=False)))
    if (launches_of(trace.events, rows) != NONE).any():
        return np.zeros(len(trace.events), dtype=np.bool_)
    return trace.events.is_category(Category.RUNTIME) & matching(trace, _COPIES)


def copy_rows(trace: Trace, to_device: bool) -> npt.NDArray[np.intp]:
    """Rows of the copies from host to device, or from device to host."""
    pattern = _TO_DEVICE if to_device else _TO_HOST
    named = np.array([pattern.search(name) is not None for name in trace.names], dtype=np.bool_)
    rows = np.flatnonzero(trace.events.is_category(Category.MEMCPY))
    return rows[named[trace.events.name[rows]]] if len(rows) else rows


def _copy_calls(trace: Trace) -> tuple[Mask, Mask]:
    """Runtime calls that copy to the device; those that copy to the host and last until the copy is over."""
    events = trace.events
    inward, outward = (np.zeros(len(events), dtype=np.bool_) for _ in range(2))
    calls = launches_of(events, copy_rows(trace, to_device=True))
    inward[calls[calls != NONE]] = True
    copies = copy_rows(trace, to_device=False)
    calls = launches_of(events, copies)
    blocking = (calls != NONE) & (events.end_ns[calls] >= events.end_ns[copies])
    outward[calls[blocking]] = True
    return inward, outward


def _operators(trace: Trace) -> Mask:
    """Operators: host spans that are neither steps nor stages nor, in old traces, marks of the user."""
    events = trace.events
    operators = events.is_category(Category.CPU_OP)
    operators[trace.steps.row] = False
    operators[trace.stage_spans.row] = False
    if not events.is_category(Category.USER_ANNOTATION).any():
        operators &= matching(trace, _OPERATOR)
    return operators


def operator_rows(trace: Trace) -> Rows:
    """Operators of which only the union of their times and the outermost ones matter: not collectives."""
    return np.flatnonzero(_operators(trace) & ~matching(trace, _COLLECTIVE))


def outermost_rows(trace: Trace, rows: Rows) -> Rows:
    """Those spans of one thread that stand in no other, by start."""
    events = trace.events
    rows = rows[np.lexsort((-events.end_ns[rows], events.start_ns[rows]))]
    reached = np.maximum.accumulate(events.end_ns[rows]) if len(rows) else events.end_ns[rows]
    return rows[np.concatenate(([True], events.start_ns[rows][1:] >= reached[:-1]))] if len(rows) else rows
