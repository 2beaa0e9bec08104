"""What copies from the host cost the device, at most."""

from __future__ import annotations

from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration, significant


def copy_cost_us(signals: Signals) -> float | None:
    """Idle time while the host was in a copy, and copying with no kernel beside it: what perfect overlap would save."""
    copies = signals.evidence.copies[0] if signals.evidence.copies else None
    if copies is None or copies.overlapped_ns is None:
        return None
    return signals.idle_by_cause_us.get("h2d", 0.0) + (copies.copy_ns - copies.overlapped_ns) / 1e3


def copy_evidence(signals: Signals) -> tuple[str, ...]:
    copies = signals.evidence.copies[0]
    if copies is None:
        return ()
    counts = f"{copies.pageable} pageable, {copies.pinned} pinned, {copies.blocking} waited for"
    overlap = copies.overlapped_ns
    beside = "kernels unknown" if overlap is None else f"{duration(overlap / 1e3)} of it beside kernels"
    lines = [
        f"copies to the device: {copies.count}, {counts}",
        f"{duration(copies.copy_ns / 1e3)} copying, {beside}",
        f"device idle for {duration(signals.idle_by_cause_us.get('h2d', 0.0))} while the host was in a copy",
    ]
    if copies.gigabytes_per_s is not None:
        lines.append(f"{significant(copies.gigabytes_per_s)} GB/s while copying")
    return tuple(lines)
