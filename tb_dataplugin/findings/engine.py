"""Runs every rule and orders what they say."""

from __future__ import annotations

from collections.abc import Callable

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules import lazy_decode, leading_stage, no_stage_markers, single_process_loading
from tb_dataplugin.findings.signals import Signals

Rule = Callable[[Signals], Finding | None]

RULES: tuple[Rule, ...] = (leading_stage.check, lazy_decode.check, single_process_loading.check, no_stage_markers.check)

_RANK = {"high": 0, "medium": 1, "low": 2}


def find(signals: Signals) -> tuple[Finding, ...]:
    """Findings, the severest and then the most gain first."""
    found = [finding for rule in RULES if (finding := rule(signals)) is not None]
    return tuple(sorted(found, key=lambda one: (_RANK[one.severity], -(one.gain_us_per_step or 0.0))))
