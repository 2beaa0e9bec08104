"""Signals about Python's lock, from what limits the parts of the time."""

from __future__ import annotations

from collections.abc import Iterable
from math import hypot

from tb_dataplugin.analyses.thread_limits import Limits, ThreadLimits
from tb_dataplugin.findings.signals import LockSignals


def read_lock(found: ThreadLimits) -> LockSignals | None:
    """Of the first device where there is one. None where no part has enough samples."""
    if found.devices:
        causes = found.devices[0]
        outside = _known(causes.get(cause) for cause in ("host", "launch"))
        wait = _known((causes.get("data_wait"),))
    else:
        outside, wait = _known((found.outside,)), _known((found.data_wait,))
    if not outside and not wait:
        return None
    return LockSignals(
        outside_us=_gil_us(outside),
        wait_us=_gil_us(wait),
        error_us=hypot(*(limits.gil_error_ns for limits in (*outside, *wait))) / 1e3,
        host_share=_share(outside),
        wait_share=_share(wait),
        in_workers_us=sum(limits.in_workers_ns for limits in wait) / 1e3,
        holders_us={name: time / 1e3 for name, time in found.holders_ns.items()},
    )


def _known(parts: Iterable[Limits | None]) -> list[Limits]:
    return [limits for limits in parts if limits is not None and limits.gil_ns is not None]


def _gil_us(parts: list[Limits]) -> float:
    return sum(limits.gil_ns or 0 for limits in parts) / 1e3


def _share(parts: list[Limits]) -> float:
    whole = sum(limits.whole_ns for limits in parts) / 1e3
    return _gil_us(parts) / whole if whole else 0.0
