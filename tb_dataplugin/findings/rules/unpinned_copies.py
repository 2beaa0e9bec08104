"""Batches are copied to the device from pageable memory, which the host has to do itself, in pieces."""

from __future__ import annotations

from tb_dataplugin.findings.copy_costs import copy_cost_us, copy_evidence
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import COPIES
from tb_dataplugin.units import count

CODE = """loader = DataLoader(..., pin_memory=True)
x = x.to(device, non_blocking=True)"""

PIN = (
    "Let the loader pin its batches in a separate thread, and copy them without blocking: copies then overlap with "
    "kernels."
)

PINNED_LOADER = (
    "The loader pins its batches (pin_memory=True), but what is copied is not pinned: a tensor made after loading, or "
    "a batch type of your own without a pin_memory() method."
)


@rule(title="Copies from pageable memory", about="copies")
def check(signals: Signals) -> Finding | Abstention | None:
    copies, cost = signals.copies, copy_cost_us(signals)
    share = signals.share(cost)
    if copies is None or cost is None or share is None or share < COPIES:
        return None
    if not copies.pageable and not copies.pinned:
        return Abstention("The names of the copies do not say from which kind of memory they are.")
    if not copies.pageable:
        return None
    pins = signals.loader is not None and signals.loader.pin_memory
    saving = until_workers_limit(signals, cost)
    gain = signals.per_step(saving.us)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{count(copies.pageable)} of {count(copies.count)} copies to the device come from pageable memory",
        advice=PINNED_LOADER if pins else PIN,
        evidence=(*copy_evidence(signals, copies), *saving.why),
        gain_us_per_step=gain,
        code="" if pins else CODE,
        confidence="likely",
        confidence_reason="The copies may also be of tensors that no loader made.",
    )
