"""Batches are pinned, and there is no device that they could be copied to."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals


@rule(title="Pinned memory without a device", about="copies")
def check(signals: Signals) -> Finding | None:
    if not signals.waste.pins_for_nothing:
        return None
    return Finding(
        severity="low",
        title="pin_memory=True has no effect: the capture has no device",
        advice="Leave it out on machines without a GPU: pin_memory=torch.cuda.is_available().",
        evidence=(Evidence("settings", "pin_memory=True"), Evidence("device", "no device activity was recorded")),
        confidence="likely",
        confidence_reason="The profiler may have been told not to record the device.",
    )
