"""Copies to the device, from pageable and pinned memory, waited for or not: the report against CUDA events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch

import annotate
from benchmarks.on_device_checks.captures import kept_row, newest, report_on
from benchmarks.on_device_checks.rows import Row, close, not_possible, same
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.truth import DeviceClock, Span, mark
from tb_dataplugin.report.report_pb2 import Capture

BYTES: Final = 64 << 20
WAIT, WARM_UP = 1, 2
UNCLEAR_S: Final = 30e-6
"""Host and device clocks agree to about this: within it, a call may have returned before or after its copy's end."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`call`: the host was in it; `device`: between two events around it; perf_counter, seconds."""

    call: Span
    device: Span

    @property
    def blocked(self) -> bool | None:
        """Whether the call lasted until the copy was over; None: not clear."""
        ahead = self.device.end - self.call.end
        return None if abs(ahead) < UNCLEAR_S else ahead < 0


def run(setting: Setting, part: str) -> Iterator[Row]:
    memory, how = part.split()
    source = torch.randn(BYTES // 4)
    if memory == "pinned":
        source = source.pin_memory()
    folder = setting.work / f"copies-{memory}-{how}"
    copies = _observe(setting, source, how == "non_blocking", folder)
    path = newest(folder)
    if part == "pinned non_blocking":
        yield from kept_row(path, setting.captures, "copies_pinned")
    yield from _rows(f"copies, {part}", memory, how, copies[WAIT + WARM_UP :], report_on(path))


def _observe(setting: Setting, source: torch.Tensor, non_blocking: bool, folder: object) -> list[Copy]:
    target = torch.empty_like(source, device="cuda")
    kernel = torch.ones(1 << 16, device="cuda")
    target.copy_(source)
    clock = DeviceClock()
    noted = []
    with annotate.profile(str(folder), wait=WAIT, warmup=WARM_UP, active=setting.active) as prof:
        for _ in range(WAIT + WARM_UP + setting.active):
            kernel.mul_(1.0001)
            torch.cuda.synchronize()
            first, begin = mark(), time.perf_counter()
            target.copy_(source, non_blocking=non_blocking)
            call = Span(begin, time.perf_counter())
            noted.append((call, first, mark()))
            torch.cuda.synchronize()
            prof.step()
    clock.close()
    return [Copy(call, Span(clock.when(first), clock.when(last))) for call, first, last in noted]


def _rows(name: str, memory: str, how: str, copies: Sequence[Copy], capture: Capture) -> Iterator[Row]:
    if not capture.devices or not capture.devices[0].HasField("h2d"):
        yield same(f"{name}: copies are in the report", "yes", "no", "it has no copy to the device")
        return
    device, count = capture.devices[0], len(copies)
    found = device.h2d
    yield same(f"{name}: copies", count, found.count)
    yield same(f"{name}: from {memory} memory", count, found.pinned if memory == "pinned" else found.pageable)
    yield _blocking_row(name, how, copies, found.blocking)
    yield close(f"{name}: bytes", BYTES * count / 1e6, found.bytes / 1e6, "MB", 0.0, 0.001)
    between = 1e3 * sum(copy.device.seconds for copy in copies)
    if memory == "pinned" and how == "blocking":  # the second event comes when the host has come back
        yield close(f"{name}: time on the device", between, found.copy_us / 1e3, "ms", 0.1, 0.1 * count)
    elif memory == "pinned":
        yield close(f"{name}: time on the device", between, found.copy_us / 1e3, "ms", 0.05, 0.03 * count)
        yield _rate_row(name, between, found.gb_per_s, count)
    else:  # no event stands between the host's staging and the copy
        ours = found.copy_us / 1e3 + device.idle_by_cause_us.h2d / 1e3
        yield close(f"{name}: copying and idle in copies", between, ours, "ms", 0.1, 0.1 * count)
    if how == "non_blocking" or memory == "pageable":
        called = 1e3 * sum(copy.call.seconds for copy in copies)
        yield close(f"{name}: host time of the calls", called, found.host_us / 1e3, "ms", 0.1, 0.1 * count)


def _blocking_row(name: str, how: str, copies: Sequence[Copy], ours: int) -> Row:
    """torch synchronises after a copy that is not ``non_blocking``; for the others the clocks decide."""
    if how == "blocking":
        return same(f"{name}: calls that block", len(copies), ours)
    blocked = [copy.blocked for copy in copies]
    if None in blocked:
        unclear = sum(1 for one in blocked if one is None)
        reason = f"{unclear} of {len(copies)} calls returned within {1e6 * UNCLEAR_S:.0f} us of their copy's end"
        return not_possible(f"{name}: calls that block (ours: {ours})", reason)
    return same(f"{name}: calls that block", sum(map(bool, blocked)), ours)


def _rate_row(name: str, between_ms: float, ours: float, count: int) -> Row:
    rate = BYTES * count / 1e9 / (between_ms / 1e3)
    return close(f"{name}: rate", rate, ours, "GB/s", 0.08, 0.1)
