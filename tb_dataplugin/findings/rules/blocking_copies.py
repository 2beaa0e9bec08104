"""Copies from pinned memory could run beside the kernels, but the host waits for each."""

from __future__ import annotations

from tb_dataplugin.findings.copy_costs import copy_cost_us, copy_evidence
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import COPIES
from tb_dataplugin.units import count


@rule(title="Blocking copies from pinned memory", about="copies")
def check(signals: Signals) -> Finding | Abstention | None:
    copies, cost = signals.copies, copy_cost_us(signals)
    share = signals.share(cost)
    if copies is None or cost is None or share is None or share < COPIES or not copies.pinned or copies.pageable:
        return None
    if not copies.launched:
        return Abstention("The calls that started the copies are not in the trace.")
    if not copies.blocking:
        return None
    saving = until_workers_limit(signals, cost)
    gain = signals.per_step(saving.us)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"The host waits for {count(copies.blocking)} of {count(copies.launched)} copies to the device",
        advice="The memory is pinned, so the copy can go on while the host launches the next kernels.",
        evidence=(*copy_evidence(signals, copies), *saving.why),
        gain_us_per_step=gain,
        code="x = x.to(device, non_blocking=True)",
    )
