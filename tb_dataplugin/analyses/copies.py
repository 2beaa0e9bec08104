"""Copies from host to device: from which memory, waited for or not, overlapped with kernels or not, and how fast.

A copy is *blocking* when the host waited for it: the call that started it lasts until the copy is over, or the thread's
next runtime call is a synchronisation that does (which is what torch does for ``x.to(device)`` without
``non_blocking=True``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.host_activity import copy_rows, synchronising_calls
from tb_dataplugin.analyses.launches import NONE, Rows, launches_of
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class CopyFigures:
    """Copies to one device that start in the window.

    `pageable` and `pinned` count those whose name says so; the others' memory is not known. `blocking` counts those
    that the host waited for, of `launched`, those whose call is in the trace. `copy_ns` is their union on the device,
    `overlapped_ns` the part of it with a kernel at the same time (None: no kernel was recorded), `host_ns` the time in
    the calls. `bytes` is None where the trace does not say them.
    """

    count: int
    pageable: int
    pinned: int
    launched: int
    blocking: int
    copy_ns: int
    overlapped_ns: int | None
    host_ns: int
    bytes: int | None

    @property
    def gigabytes_per_s(self) -> float | None:
        """Reached while copying, 1 GB = 1e9 bytes."""
        return None if self.bytes is None or not self.copy_ns else self.bytes / self.copy_ns


def find_copies(trace: Trace, window: Window, devices: tuple[DeviceIdle, ...]) -> tuple[CopyFigures | None, ...]:
    """Per device; None for a device to which nothing was copied."""
    rows = copy_rows(trace, to_device=True)
    start = trace.events.start_ns[rows]
    rows = rows[(start >= window.start_ns) & (start < window.end_ns)]
    return tuple(_one_device(trace, rows[trace.events.device[rows] == one.device], one.device) for one in devices)


def _one_device(trace: Trace, rows: Rows, device: int) -> CopyFigures | None:
    if not len(rows):
        return None
    events = trace.events
    names = [trace.names[number] for number in events.name[rows].tolist()]
    calls = launches_of(events, rows)
    launched = calls != NONE
    copies = Intervals.union(events.start_ns[rows], events.end_ns[rows])
    kernel_rows = events.is_category(Category.KERNEL) & (events.device == device)
    kernels = Intervals.union(events.start_ns[kernel_rows], events.end_ns[kernel_rows])
    own_calls = np.unique(calls[launched])
    return CopyFigures(
        count=len(rows),
        pageable=sum("Pageable" in name for name in names),
        pinned=sum("Pinned" in name for name in names),
        launched=int(launched.sum()),
        blocking=int(_blocking(trace, rows[launched], calls[launched]).sum()),
        copy_ns=copies.total_ns,
        overlapped_ns=copies.intersect(kernels).total_ns if len(kernels) else None,
        host_ns=int((events.end_ns[own_calls] - events.start_ns[own_calls]).sum()),
        bytes=_bytes(trace, rows),
    )


def _blocking(trace: Trace, copies: Rows, calls: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    events = trace.events
    over = events.end_ns[copies]
    following = _next_call(trace, calls)
    waits = (following != NONE) & synchronising_calls(trace)[following] & (events.end_ns[following] >= over)
    blocked: np.ndarray[tuple[int], np.dtype[np.bool_]] = (events.end_ns[calls] >= over) | waits
    return blocked


def _next_call(trace: Trace, calls: Rows) -> Rows:
    """The runtime call that follows each on its thread, or `NONE`."""
    events = trace.events
    runtime = np.flatnonzero(events.is_category(Category.RUNTIME))
    order = runtime[np.lexsort((events.start_ns[runtime], events.track[runtime]))]
    place = np.empty(len(events), dtype=np.intp)
    place[order] = np.arange(len(order))
    following = place[calls] + 1
    inside = following < len(order)
    row = order[np.minimum(following, len(order) - 1)]
    return np.where(inside & (events.track[row] == events.track[calls]), row, NONE)


def _bytes(trace: Trace, rows: Rows) -> int | None:
    place = np.searchsorted(trace.copies.row, rows)
    sizes: Int64Array = trace.copies.bytes[place]
    return int(sizes.sum()) if (sizes >= 0).all() else None
