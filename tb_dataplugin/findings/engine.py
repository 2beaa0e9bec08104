"""Runs every rule that applies."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache
from typing import Final

from tb_dataplugin.findings import rules
from tb_dataplugin.findings.at_starts import at_starts_us
from tb_dataplugin.findings.beside_bound import beside_bound
from tb_dataplugin.findings.finding import Abstention, Finding, NamedAbstention, NamedFinding
from tb_dataplugin.findings.gain import NO_GAIN, gain_of
from tb_dataplugin.findings.in_others import in_others
from tb_dataplugin.findings.leading import in_order
from tb_dataplugin.findings.rank_signals import ranks_show
from tb_dataplugin.findings.recorded_part import LESS_PROFILER
from tb_dataplugin.findings.registry import Rule, registered_rules
from tb_dataplugin.findings.rivals import without_rivals
from tb_dataplugin.findings.saving import OF_STEP
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.unrecorded import more_to_gain
from tb_dataplugin.units import listed, percent
from tb_dataplugin.words import GAIN_BOUND

WHY: Final[dict[str, str]] = {
    "cut_off": "its file ends early",
    "late_workers": "DataLoader workers left no data",
    "data_loss": "data were lost",
    "no_kernels": "no kernels of the device were recorded",
    "dropped_spans": "spans were dropped",
    "clock_violation": "clocks disagree",
    "no_whole_step": "it has no whole step",
    "evaluation": "it lies in an evaluation, or may",
    "short_window": "it has few steps",
    "profiler_weight": "recording takes much of a step",
    "busy_machine": "other programs used the CPUs",
    "recorder_load": "recording used the CPUs",
    "calm_window": "the steps before its window took longer",
}
"""Reasons to doubt a capture, in a few words: the sentence stands above the report."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every module in `rules/` registers its rule when it is imported."""
    for module in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
    return registered_rules()


def run_rules(signals: Signals) -> tuple[tuple[NamedFinding, ...], tuple[NamedAbstention, ...]]:
    """Findings in their order (`leading.in_order`), and inconclusive checks."""
    findings: list[NamedFinding] = []
    abstained: list[NamedAbstention] = []
    for rule in all_rules():
        answer = rule.check(signals) if rule.applies(signals) else None
        if isinstance(answer, Abstention):
            abstained.append(NamedAbstention(rule.name, rule.title, answer.reason))
            continue
        for found in (answer,) if isinstance(answer, Finding) else answer or ():
            known = _doubted(_no_higher(_estimated(found, rule)), signals)
            known = _of_one_rank(known, signals) if rule.is_about_wait else known
            at_starts, too = at_starts_us(known.evidence), in_others(signals, known)
            gain = (
                gain_of(
                    known.gain_us_per_step,
                    signals,
                    of_wait=rule.is_about_wait,
                    of_epochs=rule.about == "epochs",
                    of_others=rule.about == "others",
                    at_starts_us=at_starts,
                    others_too=bool(too),
                    loop_step=signals.foresight.loop_step if known.change and signals.foresight else None,
                )
                if known.saves
                else NO_GAIN
            )
            if gain.of_wait and gain.us_per_step:
                more = more_to_gain(signals, gain.us_per_step - at_starts)
                known = replace(known, evidence=(*known.evidence, *more, *too, *beside_bound(signals, known)))
            findings.append(NamedFinding(rule.name, known, gain))
    return in_order(without_rivals(findings, signals), signals), tuple(abstained)


def _estimated(finding: Finding, rule: Rule) -> Finding:
    """A gain is not measured where it is not just the data wait that was caused."""
    kinds = {fact.kind for fact in finding.evidence}
    if finding.confidence != "measured" or kinds.isdisjoint((GAIN_BOUND, OF_STEP, LESS_PROFILER)):
        return finding
    if OF_STEP in kinds:
        reason = "The data wait is measured; what the step itself would gain is an estimate."
    elif GAIN_BOUND not in kinds:
        reason = "The data wait is measured; what recording has of it is an estimate."
    else:
        of_step = rule.about in ("host", "copies")
        known = "Its part of the step is in the capture" if of_step else "The data wait is measured"
        reason = f"{known}; how much of it would go is computed from how long building batches took."
    return replace(finding, confidence="likely", confidence_reason=reason)


def _no_higher(finding: Finding) -> Finding:
    """What is only possible is not urgent."""
    if finding.confidence == "possible" and finding.severity == "high":
        return replace(finding, severity="medium")
    return finding


def _doubted(finding: Finding, signals: Signals) -> Finding:
    """Nothing is measured directly in a capture that is doubtful."""
    if not signals.doubts:
        return finding
    why = listed([WHY.get(doubt.code, "see above") for doubt in signals.doubts])
    doubtful = f"This capture is doubtful: {why}."
    if finding.confidence == "measured":
        return replace(finding, confidence="likely", confidence_reason=doubtful)
    return replace(finding, confidence_reason=f"{doubtful} {finding.confidence_reason}")


def _of_one_rank(finding: Finding, signals: Signals) -> Finding:
    """A rank that waits for another one at each collective gains nothing by a shorter data wait: where it is in
    collectives for longer than it waits for data, the gain is unknown.
    """
    if signals.ranks is None or finding.gain_us_per_step is None:
        return finding
    who = f"This is one of {signals.ranks.count} ranks"
    reason = f"{who}: it gains only if the others do not hold it up; {ranks_show('whether they do')}."
    collectives = signals.ranks.in_collectives or 0.0
    if collectives > (signals.loop_share(signals.wait_cost_us) or 0.0):
        finding = replace(finding, gain_us_per_step=None)
        reason = (
            f"{who}, and waits for the others for longer than for data (up to {percent(collectives)} of the window, in "
            f"collectives): what it gains by faster data is unknown; {ranks_show('who waits for whom')}."
        )
    if finding.confidence == "measured":
        return replace(finding, confidence="likely", confidence_reason=reason)
    return replace(finding, confidence_reason=f"{finding.confidence_reason} {reason}")
