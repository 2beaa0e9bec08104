"""When each device was busy and when it was idle.

Busy is the union over all streams of kernels, memcpys and memsets. Annotations copied to device rows, synchronisation
records and overhead are no activity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import Trace

NO_KERNELS: Final = "no kernels were recorded: any compute counts as idle"
"""What is to be said wherever such a device is called idle."""


@dataclass(frozen=True, slots=True)
class DeviceIdle:
    """One device within the window: ``busy.total_ns + gaps.total_ns == window.duration_ns``, exactly."""

    device: int
    name: str
    busy: Intervals
    kernel_busy_ns: int | None  # None: no kernel of it was recorded at all
    gaps: Intervals

    @property
    def reserve(self) -> str:
        """Why it may not have been idle, for brackets; "" where nothing says so."""
        return NO_KERNELS if self.kernel_busy_ns is None else ""

    @property
    def longest_gap_ns(self) -> int:
        return int(self.gaps.durations.max(initial=0))


def find_device_idle(trace: Trace, window: Window) -> tuple[DeviceIdle, ...] | Unavailable:
    devices = trace.device_ids()
    if not devices or trace.is_device_cut:
        what = "so device idle time, its causes and the exposed data wait are unknown"
        why = "it was captured on a CPU, or without the device's profiler activity"
        message = f"The trace has no device activity, {what}: {why}"
        if trace.is_cut:
            which = "The rest of the device activity is" if devices else "Device activity may be"
            message = f"{which} in the part of the file that is missing, {what}"
        return Unavailable("device", "no_device_activity", message)
    return tuple(_one_device(trace, window, device) for device in devices)


def _one_device(trace: Trace, window: Window, device: int) -> DeviceIdle:
    busy = _activity(trace, device, *DEVICE_ACTIVITY).clip(window)
    return DeviceIdle(
        device=device,
        name=next((info.name for info in trace.info.devices if info.id == device), ""),
        busy=busy,
        kernel_busy_ns=_kernel_busy_ns(trace, window, device),
        gaps=busy.complement(window),
    )


def _kernel_busy_ns(trace: Trace, window: Window, device: int) -> int | None:
    rows = trace.events.is_category(Category.KERNEL) & (trace.events.device == device)
    return _activity(trace, device, Category.KERNEL).clip(window).total_ns if rows.any() else None


def _activity(trace: Trace, device: int, *categories: Category) -> Intervals:
    rows = trace.events.is_category(*categories) & (trace.events.device == device)
    return Intervals.union(trace.events.start_ns[rows], trace.events.end_ns[rows])
