"""Stages beside the leading one that caused a part of the data wait which is worth advice of its own."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.leading import leading_own
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.rules import shrink_first, small_reads
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_finding import has_advice, stage_finding
from tb_dataplugin.findings.thresholds import HEAVY_PART


@rule(title="Further large stages", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> tuple[Finding, ...]:
    leader = leading_own(signals)
    return tuple(
        stage_finding(signals, wait, shrink_first.order_left(signals, wait.stage), leads=False)
        for wait in signals.waits_by_stage or ()
        if wait.share >= HEAVY_PART and wait != leader and has_advice(signals, wait)
        if wait.stage is not None and not small_reads.covers(signals, wait.stage)
    )
