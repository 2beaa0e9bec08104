"""One worker works much longer than the others."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, LEAST_BATCHES, UNEVEN
from tb_dataplugin.units import percent, significant

RULE = "uneven_workers"


def check(signals: Signals) -> Finding | Abstention | None:
    flow = signals.evidence.flow.workers
    if not signals.makes_batches_in_workers or flow is None or flow.processes < 2 or signals.felt_us is None:
        return None
    if not signals.is_input_bound(INPUT_BOUND) or flow.skew < UNEVEN:
        return None
    if flow.batches < LEAST_BATCHES:
        made = f"batches finished per DataLoader worker in the window: {significant(flow.batches, 2)}"
        return Abstention(RULE, f"{made}, too few to tell a slow worker from a slow batch")
    gain = signals.per_step(min(signals.felt_us, flow.busy * signals.window_us * (flow.skew - 1)))
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=signals.felt_us),
        title=f"DataLoader worker {flow.slowest} is busy {flow.skew:.2g} times as long as the mean of all workers",
        advice="Batches go to the workers in turn, so one slow worker holds up all. Look at its samples and at what "
        "else runs on its core; with in_order=False the others need not wait for it.",
        evidence=(f"the workers are busy for {percent(flow.busy)} of the window on average",),
        gain_us_per_step=gain,
        code="DataLoader(..., in_order=False)  # torch 2.6 or later",
        confidence="likely",
        confidence_reason="a short window may have caught it with the slow samples by chance",
    )
