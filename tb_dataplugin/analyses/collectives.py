"""Collectives of one process: which, when it joined, and when it left.

On devices a collective is NCCL's kernel: it starts when its stream gets there, and ends when all ranks have come. On
the host (gloo) a call hands the work over (``c10d::allreduce_``), and a thread of the transport carries it out
(``gloo:all_reduce``): it has joined once it was handed over, and left when the transport is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.launches import NONE, launches_of
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window, int64
from tb_dataplugin.model.trace import Trace

Rows = npt.NDArray[np.intp]

OPERATIONS: Final = (
    "allreduce", "allgather", "reducescatter", "alltoall", "barrier", "broadcast", "reduce", "gather", "scatter",
)  # fmt: skip
"""The first that a name contains is meant. Sending from one rank to another is no collective."""

SYMMETRIC: Final = frozenset(("allreduce", "allgather", "reducescatter", "alltoall", "barrier"))
"""Those that no rank can leave before all have come."""

_DEVICE, _CALL, _TRANSPORT = re.compile("n?r?ccl.*"), re.compile("c10d::.*"), re.compile("(gloo|mpi|ucc):.*")
_POINT_TO_POINT: Final = re.compile(".*(send|recv).*")
_SENT_ON_DEVICE: Final = re.compile("n?r?ccl.*kernel.*(send|recv).*", re.IGNORECASE)
_EARLY_NS: Final = 5_000
"""The transport may be seen to begin by this much before its call: clocks of two threads."""

UNKNOWN_NS: Final = np.iinfo(np.int64).min
"""Before all times, so in no step."""

Numbered = Literal["number", "step", "order"]
"""What tells a collective from others on every rank: its number in its group; its step and its place in it; or only
the order in which they came.
"""


@dataclass(frozen=True, slots=True)
class Collectives:
    """One row per collective, by arrival; times in ns on the trace's clock.

    `operation` and `group` index into their names; a group "" is not said. `number` counts collectives of that group
    (-1: not said); `step` is the number of the step that called it, -1 outside of any or where steps have no numbers.
    `called_ns` is when it was called: a device's kernel when it was launched, which may be steps before it runs;
    `UNKNOWN_NS` where no launch was recorded.
    """

    operations: tuple[str, ...]
    groups: tuple[str, ...]
    operation: Int64Array
    group: Int64Array
    number: Int64Array
    step: Int64Array
    called_ns: Int64Array
    arrival_ns: Int64Array
    end_ns: Int64Array

    def __len__(self) -> int:
        return len(self.arrival_ns)


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows of the event table: where group and number stand, and what times are taken from."""

    row: Rows
    operation: Int64Array
    called_ns: Int64Array
    arrival_ns: Int64Array
    end_ns: Int64Array


def find_collectives(trace: Trace, steps: Steps | None) -> Collectives | Unavailable:
    """`steps`: those whose numbers are the same on all ranks, None without any."""
    operation = _operations(trace)
    found = _on_devices(trace, operation) or _on_host(trace, operation)
    if found is None:
        return _nothing(trace)
    order = np.argsort(found.arrival_ns, kind="stable")
    group, number = _numbers(trace, found.row[order])
    arrival = found.arrival_ns[order]
    called = found.called_ns[order]
    return Collectives(
        operations=OPERATIONS,
        groups=("", *trace.collectives.groups),
        operation=found.operation[order],
        group=group,
        number=number,
        step=_steps_of(called, steps),
        called_ns=called,
        arrival_ns=arrival,
        end_ns=found.end_ns[order],
    )


def _nothing(trace: Trace) -> Unavailable:
    """NCCL's sends and receives are also what an all-to-all is made of."""
    sent = next((name for name in trace.names if _SENT_ON_DEVICE.match(name)), None)
    if sent is None:
        return Unavailable("capture", "no_collectives", "it has no collectives, so no rank waits for it in one")
    why = f"the only communication on its device is sends and receives ({sent.split('(')[0]}), of which the trace does "
    return Unavailable("capture", "no_collectives", why + "not say which ranks they join")


def share_in_collectives(trace: Trace, window: Window) -> float | None:
    """Of the window, waiting for other ranks included; None where no collective was recorded."""
    found = find_collectives(trace, None)
    if isinstance(found, Unavailable) or not len(found) or not window.duration_ns:
        return None
    return Intervals.union(found.arrival_ns, found.end_ns).clip(window).total_ns / window.duration_ns


def _operations(trace: Trace) -> Int64Array:
    """Per name of the trace, the operation that it means, or -1."""
    return int64([_operation(name) for name in trace.names]) if trace.names else np.zeros(0, dtype=np.int64)


def _operation(name: str) -> int:
    plain = name.lower().replace("_", "")
    if not (_DEVICE.match(plain) or _CALL.match(plain) or _TRANSPORT.match(plain)) or _POINT_TO_POINT.match(plain):
        return -1
    return next((place for place, operation in enumerate(OPERATIONS) if operation in plain), -1)


def _rows(trace: Trace, operation: Int64Array, pattern: re.Pattern[str], *categories: Category) -> Rows:
    """By start."""
    fits = np.array([bool(pattern.match(name)) for name in trace.names], dtype=np.bool_)
    events = trace.events
    if not fits.any():
        return np.zeros(0, dtype=np.intp)
    rows = np.flatnonzero(fits[events.name] & (operation[events.name] >= 0) & events.is_category(*categories))
    return rows[np.argsort(events.start_ns[rows], kind="stable")]


def _on_devices(trace: Trace, operation: Int64Array) -> _Found | None:
    rows, events = _rows(trace, operation, _DEVICE, Category.KERNEL), trace.events
    if not len(rows):
        return None
    launch = launches_of(events, rows)
    launched = np.where(launch == NONE, UNKNOWN_NS, events.start_ns[np.maximum(launch, 0)])
    return _Found(rows, operation[events.name[rows]], launched, events.start_ns[rows], events.end_ns[rows])


def _on_host(trace: Trace, operation: Int64Array) -> _Found | None:
    events = trace.events
    calls = _rows(trace, operation, _CALL, Category.CPU_OP)
    carried = _rows(trace, operation, _TRANSPORT, Category.USER_ANNOTATION, Category.CPU_OP)
    if not len(carried):
        return None
    if not len(calls):
        start = events.start_ns[carried]
        return _Found(carried, operation[events.name[carried]], start, start, events.end_ns[carried])
    kinds = operation[events.name]
    pairs = _pair(events.start_ns[calls], kinds[calls], events.start_ns[carried], kinds[carried])
    if not pairs:
        return None
    first, second = np.array(pairs, dtype=np.intp).T
    call, transport = calls[first], carried[second]
    handed_over = np.minimum(events.end_ns[call], events.start_ns[transport])
    joined = np.maximum(handed_over, events.start_ns[call])
    return _Found(call, kinds[call], joined, joined, events.end_ns[transport])


def _pair(
    called: Int64Array, call_kind: Int64Array, began: Int64Array, carried_kind: Int64Array
) -> list[tuple[int, int]]:
    """Each call with what carried it out: the next of its kind that nobody has yet. A transport takes its work in the
    order of the calls.
    """
    pairs: list[tuple[int, int]] = []
    for kind in np.unique(call_kind).tolist():
        mine, theirs = np.flatnonzero(call_kind == kind), np.flatnonzero(carried_kind == kind)
        place = 0
        for call in mine.tolist():
            while place < len(theirs) and began[theirs[place]] < called[call] - _EARLY_NS:
                place += 1
            if place == len(theirs):
                break
            pairs.append((call, int(theirs[place])))
            place += 1
    return pairs


def _numbers(trace: Trace, rows: Rows) -> tuple[Int64Array, Int64Array]:
    """Group (0: not said) and number of the events in these rows."""
    facts = trace.collectives
    if not len(facts.row):
        return np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(facts.row, rows), len(facts.row) - 1)
    known = facts.row[place] == rows
    return np.where(known, facts.group[place] + 1, 0), np.where(known, facts.number[place], -1)


def _steps_of(called: Int64Array, steps: Steps | None) -> Int64Array:
    if steps is None or not len(steps):
        return np.full(len(called), -1, dtype=np.int64)
    place = np.searchsorted(steps.start_ns, called, side="right") - 1
    inside = (place >= 0) & (called < steps.end_ns[np.maximum(place, 0)])
    return np.where(inside, steps.number[np.maximum(place, 0)], -1)
