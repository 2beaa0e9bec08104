"""The part of the report that judges: nothing is computed."""

from __future__ import annotations

from tb_dataplugin.findings import Evidence, NamedAbstention, NamedFinding, Verdict
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_settings import settings_report


def evidence_report(fact: Evidence) -> pb.Evidence:
    return pb.Evidence(
        kind=fact.kind,
        value=fact.value,
        unit=fact.unit,
        whole=fact.whole,
        text=fact.text,
        stage=fact.stage,
        in_sentence=fact.in_sentence,
    )


def verdict_report(verdict: Verdict) -> pb.Verdict:
    return pb.Verdict(bound=verdict.bound, sentence=verdict.sentence, evidence=map(evidence_report, verdict.evidence))


def finding_report(named: NamedFinding) -> pb.Finding:
    finding, gain = named.finding, named.gain
    return pb.Finding(
        rule=named.rule,
        severity=finding.severity,
        title=finding.title,
        advice=finding.advice,
        stage=finding.stage,
        title_stage=finding.title_stage,
        gain_us_per_step=gain.us_per_step,
        evidence=map(evidence_report, finding.evidence),
        code=finding.code,
        confidence=finding.confidence,
        confidence_reason=finding.confidence_reason,
        gain_step_share=gain.step_share,
        speedup=gain.speedup,
        gain_share_text=gain.of_step,
        gain_of=gain.long_step,
        gain_us=gain.window_us,
        gain_window_share=gain.window_share,
        gain_text=gain.text,
        gain_high_us_per_step=gain.high_us_per_step,
        of_loader=settings_report(finding.of_loader) if finding.of_loader else None,
    )


def abstention_report(named: NamedAbstention) -> pb.Abstention:
    return pb.Abstention(rule=named.rule, reason=named.reason, title=named.title)
