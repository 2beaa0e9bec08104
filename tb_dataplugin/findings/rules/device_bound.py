"""Not data: the device is busy."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import DEVICE_BUSY
from tb_dataplugin.units import duration, percent


def check(signals: Signals) -> Finding | None:
    idle = signals.share(signals.idle_us)
    if idle is None or 1 - idle < DEVICE_BUSY:
        return None
    wait = () if signals.wait_us is None else (f"{duration(signals.wait_us)} of data wait, hidden behind the device",)
    return Finding(
        rule="device_bound",
        severity="low",
        title=f"The device is busy for {percent(1 - idle)} of the window: do not touch the loader",
        advice="Only the device's own work is worth changing: mixed precision, larger batches, faster kernels.",
        evidence=(f"the device idles for {duration(signals.idle_us)} in all", *wait),
        gain_us_per_step=signals.per_step(signals.idle_us or 0.0),
    )
