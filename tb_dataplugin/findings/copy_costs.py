"""What copies from the host cost the device, at most."""

from __future__ import annotations

from tb_dataplugin.findings.device_signals import CopySignals
from tb_dataplugin.findings.evidence import Evidence, number, time
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import count, duration, significant


def copy_cost_us(signals: Signals) -> float | None:
    """Idle time while the host was copying, and copying with no kernel beside it: what perfect overlap would save. What
    happened in one step only is no cost of each.
    """
    copies = signals.copies
    if copies is None or copies.overlapped_us is None:
        return None
    once = copies.one_off[1] if copies.one_off else 0.0
    return signals.idle.by_cause_us.get("h2d", 0.0) - once + copies.copy_us - copies.overlapped_us


def copy_evidence(signals: Signals, copies: CopySignals) -> tuple[Evidence, ...]:
    kinds = f"{count(copies.pageable)} pageable, {count(copies.pinned)} pinned, {count(copies.blocking)} blocking"
    overlap = copies.overlapped_us
    beside = "kernels unknown" if overlap is None else f"{duration(overlap)} of it while kernels ran"
    idle = signals.idle.by_cause_us.get("h2d", 0.0)
    facts = [
        number("copies", copies.count, "count", f"copies to the device: {count(copies.count)} ({kinds})"),
        time("copy_time", copies.copy_us, f"{duration(copies.copy_us)} copying, {beside}"),
        time("idle_h2d", idle, f"device idle for {duration(idle)} while the host was copying{_once(copies)}"),
    ]
    if copies.gigabytes_per_s is not None:
        speed = copies.gigabytes_per_s
        facts.append(Evidence("copy_speed", f"{significant(speed)} GB/s while copying"))
    return tuple(facts)


def _once(copies: CopySignals) -> str:
    if copies.one_off is None:
        return ""
    step, time_us = copies.one_off
    return f", {duration(time_us)} of it in step {step} alone, which is not counted"
