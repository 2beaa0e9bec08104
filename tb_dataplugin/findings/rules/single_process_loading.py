"""Batches are built in the training thread, one after the other with the training."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration, plural


@rule(title="No DataLoader workers", about="workers", input_bound=True)
def check(signals: Signals) -> Finding | None:
    cost, wait = signals.wait_cost_us, signals.data_wait_us
    if signals.loader is None or signals.loader.num_workers != 0 or cost is None or signals.lock_limits_wait:
        return None
    cpus = int(signals.cpus) if signals.cpus else None
    workers = max(1, cpus - 1) if cpus else 4
    gain = _gain(signals, workers if cpus else None)
    start = f"one less than the {plural(cpus, 'CPU')}" if cpus else "or one less than the machine has CPUs"
    total = () if wait is None else (time("data_wait", wait, f"{duration(wait)} of data wait in total"),)
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title="The DataLoader has no workers: the training thread builds every batch itself",
        advice=f"Start with num_workers={workers} ({start}) and measure again. Throughput is then limited by those "
        "processes.",
        gain_us_per_step=gain,
        evidence=(Evidence("settings", "num_workers=0"), *signals.wait_cost_evidence(), *total),
        code=f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
    )


def _gain(signals: Signals, workers: int | None) -> float | None:
    """Per step, at most: the cost, and no faster than that many workers build batches. None without steps."""
    if signals.wait_cost_us is None or signals.data_wait_us is None:
        return None
    fastest = signals.data_wait_us / workers if workers else 0.0
    return signals.per_step(max(0.0, min(signals.wait_cost_us, signals.window_us - fastest)))
