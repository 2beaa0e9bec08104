"""Batches are copied to the device from pageable memory, which the host has to do itself, in pieces."""

from __future__ import annotations

from tb_dataplugin.findings.copy_costs import copy_cost_us, copy_evidence
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import COPIES

RULE = "unpinned_copies"

CODE = """loader = DataLoader(..., pin_memory=True)
x = x.to(device, non_blocking=True)"""

PINNED_LOADER = (
    "The loader pins its batches (pin_memory=True), but what is copied is not: a tensor made after loading, or a batch "
    "type of your own without a pin_memory() method."
)


def check(signals: Signals) -> Finding | Abstention | None:
    copies = signals.evidence.copies[0] if signals.evidence.copies else None
    cost = copy_cost_us(signals)
    share = signals.share(cost)
    if copies is None or cost is None or share is None or share < COPIES:
        return None
    if not copies.pageable and not copies.pinned:
        return Abstention(RULE, "the names of the copies do not say from which kind of memory they are")
    if not copies.pageable:
        return None
    pins = signals.loader is not None and signals.loader.pin_memory
    gain = signals.per_step(cost)
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"{copies.pageable} of {copies.count} copies to the device come from pageable memory",
        advice=PINNED_LOADER
        if pins
        else "Let the loader put batches into pinned memory, in a thread of its own, and copy them without blocking: "
        "the copy then runs beside the kernels.",
        evidence=copy_evidence(signals),
        gain_us_per_step=gain,
        code="" if pins else CODE,
        confidence="likely",
        confidence_reason="the copies may also be of tensors that no loader made",
    )
