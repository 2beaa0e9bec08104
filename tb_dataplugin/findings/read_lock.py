"""Signals about Python's lock, from what limits the parts of the time."""

from __future__ import annotations

from collections.abc import Iterable
from math import hypot

from annotate.trace_format import OWN_THREAD
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.lock_time import own_lock_ns
from tb_dataplugin.analyses.thread_limits import Limits, ThreadLimits
from tb_dataplugin.findings.line_signals import read_holders
from tb_dataplugin.findings.lock_signals import LockSignals


def read_lock(found: ThreadLimits, lines: HotLines | None) -> LockSignals | None:
    """Of the first device where there is one. None where no part has enough samples."""
    if found.devices:
        causes = found.devices[0]
        outside = _known(causes.get(cause) for cause in ("host", "launch"))
        wait = _known((causes.get("data_wait"),))
    else:
        outside, wait = _known((found.outside,)), _known((found.data_wait,))
    if not outside and not wait:
        return None
    holders = found.holders_ns
    foreign = {name: time / 1e3 for name, time in holders.items() if not name.startswith(OWN_THREAD)}
    own = own_lock_ns(holders) / sum(holders.values()) if holders else 0.0
    in_workers_us = sum(limits.in_workers_ns for limits in wait) / 1e3
    return LockSignals(
        outside_us=_gil_us(outside) * (1 - own),
        wait_us=in_workers_us + (_gil_us(wait) - in_workers_us) * (1 - own),
        error_us=hypot(*(limits.gil_error_ns for limits in (*outside, *wait))) / 1e3,
        host_share=_share(outside) * (1 - own),
        wait_share=_share(wait) * (1 - own),
        in_workers_us=in_workers_us,
        no_cpu_us=sum(limits.training.no_cpu_ns for limits in (*outside, *wait)) / 1e3,
        blocked_us=sum(limits.training.blocked_ns for limits in outside) / 1e3,
        has_recorder=own > 0.0,
        holders_us=foreign,
        holders=read_holders(lines),
    )


def _known(parts: Iterable[Limits | None]) -> list[Limits]:
    return [limits for limits in parts if limits is not None and limits.gil_ns is not None]


def _gil_us(parts: list[Limits]) -> float:
    return sum(limits.gil_ns or 0 for limits in parts) / 1e3


def _share(parts: list[Limits]) -> float:
    whole = sum(limits.whole_ns for limits in parts) / 1e3
    return _gil_us(parts) / whole if whole else 0.0
