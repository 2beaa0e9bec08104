"""One stage caused a large part of the data wait."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.leading import leading_own, leading_place
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.rules import shrink_first, small_reads
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_finding import has_advice, stage_finding


@rule(title="Leading stage", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    leader = leading_own(signals)
    if leader is None or leader.stage is None or not has_advice(signals, leader):
        return None
    if small_reads.covers(signals, leader.stage):
        return None
    later = shrink_first.order_left(signals, leader.stage)
    return stage_finding(signals, leader, later, leads=leader == leading_place(signals))
