"""Everything that is said about one capture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tb_dataplugin.analyses.evaluation import find_evaluation
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.engine import run_rules
from tb_dataplugin.findings.finding import NamedAbstention, NamedFinding
from tb_dataplugin.findings.headspace_sentence import headspace_evidence
from tb_dataplugin.findings.limiting import more_workers_in_vain
from tb_dataplugin.findings.no_step import NOT_CHECKED, is_without_steps, verdict_without_steps
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.findings.replay_sentences import replayed_evidence
from tb_dataplugin.findings.rivals import find_overlaps
from tb_dataplugin.findings.saving import workers_have_its_cpus
from tb_dataplugin.findings.sentences import Sentences, say
from tb_dataplugin.findings.verdict import Verdict, judge_run

OF_EVALUATION: Final = "This window lies in an evaluation, and shows nothing of the training."


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    findings: tuple[NamedFinding, ...]
    abstained: tuple[NamedAbstention, ...]
    sentences: Sentences


def judge(results: Results) -> Judgement:
    signals = read_signals(results)
    judges = not is_without_steps(signals)
    verdict = judge_run(signals) if judges else verdict_without_steps(signals)
    evaluation = find_evaluation(results.trace)
    if judges and evaluation is not None and evaluation.kind == "recorded":
        verdict = replace(verdict, sentence=f"{OF_EVALUATION} {verdict.sentence}")
    verdict = replace(verdict, evidence=(*replayed_evidence(results), *verdict.evidence))
    if results.headspace is not None:
        verdict = replace(verdict, evidence=(*verdict.evidence, headspace_evidence(results.headspace)))
    findings, abstained = run_rules(signals) if judges else ((), (NOT_CHECKED,))
    overlaps, gives_cpus = find_overlaps(findings, signals), workers_have_its_cpus(signals)
    vain = partial(more_workers_in_vain, signals)
    sentences = say(results, verdict, findings, overlaps, signals.apart, gives_cpus=gives_cpus, more_in_vain=vain)
    return Judgement(verdict, findings, abstained, sentences)
