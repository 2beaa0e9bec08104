"""Not data: the training thread does something else between the steps, for long."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings import collecting
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import training_line
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, LONG_PAUSE_US
from tb_dataplugin.units import duration, percent

_OF_LINE: Final = "Do what the line under Evidence does less often, or in another thread."
_UNKNOWN: Final = (
    "Mark what it does there (logging, metrics, checkpoints, moving data) with annotate.stage, then do it less often "
    "or in another thread."
)


@rule(title="Long pauses in Python", about="host")
def check(signals: Signals) -> Finding | None:
    pauses = signals.idle.long_pauses_us
    share = signals.share(pauses)
    if share is None or share < INPUT_BOUND or signals.lock_limits_host:
        return None
    gain = signals.per_step(pauses)
    known = signals.data_wait_us is not None
    text = f"{duration(pauses)} in idle gaps in which that thread was in Python for at least {LONG_PAUSE_US / 1e3:g} ms"
    line, collects = training_line(signals, "host"), collecting.is_collecting(signals.training_lines.get("host"))
    return Finding(
        severity=severity(signals, gain, otherwise_us=pauses),
        title=f"The device is idle for {percent(share)} of the window while the training thread is in Python",
        advice=collecting.ADVICE if collects else _OF_LINE if line else _UNKNOWN,
        evidence=(time("long_pauses", pauses, text), *line),
        gain_us_per_step=gain,
        code=collecting.FREEZE if collects else "" if line else 'with annotate.stage("user", "logging"):\n    ...',
        confidence="measured" if known else "possible",
        confidence_reason="" if known else "The trace has no DataLoader spans: this time may be data wait.",
    )
