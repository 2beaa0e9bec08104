"""What the device that is busiest does for a step, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.whatif.loop import DeviceWait

OF_THE_STEP: Final[tuple[Cause, ...]] = ("launch", "host", "sync", "h2d", "comm")
"""What the training thread does outside of the data wait."""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """`Loop.device_ns`, `Loop.device_pageable_ns` and `Loop.device_wait`."""

    busy_ns: float
    pageable_ns: float
    wait: DeviceWait | None


def find_device_use(results: Results) -> DeviceUse | None:
    """The window has whole steps, and what the device did for them."""
    assert results.steps is not None
    steps = len(results.steps.rows)
    devices = zip(results.devices, results.copies, results.attribution.devices, strict=True)
    busiest = max(devices, key=lambda device: device[0].busy.total_ns, default=None)
    if busiest is None:
        return None
    idle, copies, attributed = busiest
    return DeviceUse(idle.busy.total_ns / steps, _pageable_ns(copies) / steps, _longest(attributed, steps))


def _pageable_ns(copies: CopyFigures | None) -> float:
    """Those beside kernels keep the device no busier."""
    if copies is None:
        return 0.0
    return (copies.copy_ns - (copies.overlapped_ns or 0)) * copies.pageable / copies.count


def _longest(device: DeviceAttribution, steps: int) -> DeviceWait | None:
    """What was launched and had not started waits for nothing of the host's."""
    times = {cause: ns for cause, ns in device.by_cause_ns.items() if cause in OF_THE_STEP}
    if "launch" in times:
        times["launch"] -= device.queued_ns
    cause = max(times, key=times.__getitem__, default=None)
    return None if cause is None else DeviceWait(cause, times[cause] / steps)
