"""Verdict, data wait by stage and the first finding name one stage; findings stand by gain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tb_dataplugin.findings.finding import Finding, NamedFinding, Severity
from tb_dataplugin.findings.gain import gain_of
from tb_dataplugin.findings.leading import in_order, leading_place
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture
from tests.conftest import GOLDEN
from tests.tb_dataplugin.findings.cases import CHAIN, capture_of, handed_over, held_up, input_bound, reading, signals_of
from tests.trace_builder import TraceBuilder, training_run

TRACES = sorted(path for folder in ("traces", "quirks") for path in (GOLDEN.parent / folder).glob("*.*s*[nz]"))
PLANTED = (
    training_run(),
    input_bound(),
    input_bound(stages=CHAIN),
    input_bound(stages=CHAIN, cores=2),
    input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]),
    handed_over(4000),
    handed_over(100, 3000),
    held_up(),
    reading(1000),
    reading(10**7),
)


def said_stages(capture: Capture) -> set[str]:
    return {fact.stage for fact in capture.verdict.evidence if fact.in_sentence}


def agree(capture: Capture) -> None:
    said = said_stages(capture)
    assert len(said) <= 1
    named = [finding.stage for finding in capture.findings if finding.stage]
    if said and named and said <= set(named):
        assert said == {named[0]}
    if said and capture.findings and capture.findings[0].stage:
        assert said == {capture.findings[0].stage}
        assert capture.verdict.evidence and said == {max_wait(capture)}


def max_wait(capture: Capture) -> str:
    waits = {fact.stage: fact.value for fact in capture.verdict.evidence if fact.kind == "wait_by_stage"}
    return max((stage for stage in waits if stage not in ("other", "unrecorded")), key=lambda stage: waits[stage])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_verdict_and_first_finding_agree_on_traces(path: Path) -> None:
    agree(analyse_file(path).capture)


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_verdict_and_first_finding_agree_on_planted_trouble(number: int) -> None:
    capture = capture_of(PLANTED[number])
    assert capture.findings
    agree(capture)


def finding(title: str, stage: str, gain: float | None, severity: Severity = "low") -> NamedFinding:
    made = Finding(severity=severity, title=title, advice="Do.", stage=stage, evidence=(), gain_us_per_step=gain)
    return NamedFinding(title, made, gain_of(gain, signals_of(input_bound())))


def titles(*findings: NamedFinding) -> str:
    return " ".join(named.rule for named in in_order(findings, signals_of(input_bound())))


def test_the_most_severe_comes_first_then_the_largest_gain_and_an_unknown_one_last() -> None:
    unknown = finding("e", "", None, "medium"), finding("d", "", None, "high")
    known = finding("c", "", 1.0, "high"), finding("a", "", 3.0, "medium"), finding("b", "", 2.0, "medium")
    assert titles(*unknown, *known) == "c d a b e"


def test_what_has_no_gain_stands_where_the_time_that_it_is_about_would_place_it() -> None:
    """81% of a stranger's window was one wait, and stood behind what saved 5% of it."""
    about = finding("wait", "", None, "high")
    about = replace(about, finding=replace(about.finding, may_save_us_per_step=5.0))
    assert titles(finding("a", "", 9.0, "high"), finding("b", "", 1.0, "high"), about) == "a wait b"


def test_what_is_not_worth_much_stands_last_though_its_gain_is_known() -> None:
    assert titles(finding("c", "", 9.0), finding("d", "", None), finding("b", "", None, "medium")) == "b c d"
    assert titles(finding("b", "", 9.0), finding("a", "", 1.0, "high")) == "a b"


def test_of_gains_that_read_the_same_the_stage_that_caused_most_comes_first() -> None:
    signals = signals_of(input_bound(stages=CHAIN))
    gains = {"decode::PIL.Image": 5001.0, "transform::RandomCrop": 5002.0, "transform::Blur": 4999.0}
    findings = [finding(stage, stage, gain, "high") for stage, gain in gains.items()]
    findings += [finding("whole", "", 5003.0, "high"), finding("more", "", 5050.0, "high")]
    order = [named.rule for named in in_order(findings, signals)]
    assert order == ["more", "transform::Blur", "decode::PIL.Image", "transform::RandomCrop", "whole"]


def test_what_the_verdict_names_does_not_stand_before_what_saves_more() -> None:
    leader = leading_place(signals_of(input_bound()))
    assert leader is not None and leader.name == "transform::Slow"
    other, own, whole = finding("other", "x", 5.0), finding("own", leader.name, 4.0), finding("whole", "", 6.0)
    assert titles(other, own, whole) == "whole other own"


def test_the_largest_gain_stays_first_where_it_is_about_the_leading_stage() -> None:
    findings = capture_of(input_bound(stages=CHAIN)).findings
    gains = [one.gain_us_per_step for one in findings if one.HasField("gain_us_per_step")]
    assert gains == sorted(gains, reverse=True)
    assert {one.rule: one.stage for one in findings if one.rule in ("leading_stage", "shrink_first")} == {
        "shrink_first": "transform::Blur",
        "leading_stage": "transform::Blur",
    }


def test_a_stage_leads_where_more_passes_between_stages_and_is_not_called_the_largest() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90).stage("user::half", 1, 35)
    builder.stage("user::half", 50, 1)
    capture = capture_of(builder)
    assert "part of it for user::half (40.0% of the data wait)" in capture.verdict.sentence
    agree(capture)


def test_below_the_threshold_no_stage_is_named() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 100)
    for number in range(5):
        builder.stage(f"user::{number}", 20 * number, 20)
    sentence = capture_of(builder).verdict.sentence
    assert sentence.endswith("no stage caused more than 20.0% of the data wait.") and "user::" not in sentence


def test_the_transfer_that_the_verdict_names_is_in_its_evidence_as_a_whole() -> None:
    """Its parts are shares of their own: the record has when the batch arrived, and when it was deserialised."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 4}]).step(0, 20_000).worker(0)
    builder.batches["deserialise_us"] = []
    builder.wait(0, 9000, "wait::DataLoader").batch(0, 0, 0, 0, 500, 8999, {"sample::Pets": (0, 500)})
    builder.batches["deserialise_us"][-1] = 4000
    builder.batches["arrived_us"][-1] = 8000
    capture = capture_of(builder)
    assert {"transfer::deserialise", "transfer"} <= set(capture.loader.wait_by_stage_us)
    said = [fact for fact in capture.verdict.evidence if fact.in_sentence]
    assert [(fact.stage, round(fact.value, 3)) for fact in said] == [("transfer", 0.944)]
    whole, part = capture.verdict.evidence[:2]
    assert whole.text.startswith("transfer: ") and part.text.startswith("of it transfer::deserialise: ")
