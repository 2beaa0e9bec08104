"""Not data: the training thread does something else between the steps, for long."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import duration, percent


def check(signals: Signals) -> Finding | None:
    share = signals.share(signals.long_pauses_us)
    if share is None or share < INPUT_BOUND:
        return None
    gain = signals.per_step(signals.long_pauses_us)
    known = signals.wait_us is not None
    return Finding(
        rule="python_pauses",
        severity=severity(signals, gain, otherwise_us=signals.long_pauses_us),
        title=f"The device idles for {percent(share)} of the window while the training thread is in Python",
        advice="Mark what it does there (logging, metrics, checkpoints, moving data) with annotate.stage, then do it "
        "less often or in another thread.",
        evidence=(f"{duration(signals.long_pauses_us)} in gaps with at least 1 ms of it",),
        gain_us_per_step=gain,
        code='with annotate.stage("user", "logging"):\n    ...',
        confidence="measured" if known else "possible",
        confidence_reason="" if known else "the trace has no DataLoader spans: this time may be a wait for data",
    )
