"""Not data: the device is busy."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import DEVICE_BUSY
from tb_dataplugin.units import duration, percent


@rule(title="Busy device", about="host")
def check(signals: Signals) -> Finding | None:
    idle_us, wait_us = signals.idle.total_us, signals.data_wait_us
    idle = signals.share(idle_us)
    if idle is None or idle_us is None or 1 - idle < DEVICE_BUSY:
        return None
    hidden = "" if wait_us is None else f"{duration(wait_us)} of data wait, nearly all of it while the device was busy"
    return Finding(
        severity="low",
        title=f"The device is busy for {percent(1 - idle)} of the window: leave the DataLoader alone",
        advice="Only the device's own work is worth changing: mixed precision, larger batches, faster kernels.",
        evidence=(
            time("device_idle", idle_us, f"the device is idle for {duration(idle_us)} in total"),
            *(() if wait_us is None else (time("data_wait", wait_us, hidden),)),
        ),
        gain_us_per_step=signals.per_step(idle_us),
    )
