"""Rules register themselves; the engine runs those that apply and orders what they say."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.trace_format import METADATA_KEY, THREAD_STATES
from tb_dataplugin.findings import rules
from tb_dataplugin.findings.device_signals import IdleSignals
from tb_dataplugin.findings.engine import all_rules, run_rules
from tb_dataplugin.findings.rank_signals import RankSignals
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import step_sentence
from tb_dataplugin.findings.verdict import judge_run
from tb_dataplugin.units import percent
from tests.tb_dataplugin.findings.cases import (
    CHAIN,
    PINNED,
    capture_of,
    copying,
    handed_over,
    held_up,
    input_bound,
    launching,
    signals_of,
)
from tests.tb_dataplugin.findings.step_cases import MODEL, run
from tests.trace_builder import TraceBuilder

RUNNING, BLOCKED = THREAD_STATES.index("running"), THREAD_STATES.index("blocked")
FOLDER = Path(rules.__path__[0])
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_every_module_is_one_rule_of_its_name_with_tests_of_its_own() -> None:
    assert sorted(known.name for known in all_rules()) == MODULES
    tests = {path.stem for path in (Path(__file__).parent / "rules").glob("test_*.py")}
    assert tests == {f"test_{name}" for name in MODULES}


def test_titles_are_words_and_no_two_are_alike() -> None:
    titles = [known.title for known in all_rules()]
    assert len(set(titles)) == len(titles) and not any("_" in title for title in titles)


def test_a_second_rule_in_a_module_is_refused() -> None:
    def check(signals: Signals) -> None:
        return None

    check.__module__ = f"{rules.__name__}.leading_stage"
    with pytest.raises(ValueError, match="two rules"):
        rule(title="again", about="samples")(check)


@pytest.mark.parametrize("module", MODULES)
def test_rules_know_microseconds_only(module: str) -> None:
    names = {node.attr for node in ast.walk(ast.parse((FOLDER / f"{module}.py").read_text())) if hasattr(node, "attr")}
    assert not {name for name in names if name.endswith("_ns")}


def test_rules_that_need_more_than_a_replay_has_do_not_judge_one() -> None:
    replay = capture_of(input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]))
    allowed = {known.name for known in all_rules() if known.replay}
    assert replay.findings and {finding.rule for finding in replay.findings} <= allowed


def test_no_gain_exceeds_what_is_waited() -> None:
    for finding in capture_of(input_bound(stages=CHAIN)).findings:
        assert finding.gain_us_per_step <= 8000


def test_every_finding_says_what_was_seen_what_to_do_and_how_sure_it_is() -> None:
    builders = [
        input_bound(),
        input_bound(stages=CHAIN),
        copying(PINNED, True),
        launching(),
        handed_over(4000),
        held_up(),
    ]
    for finding in (finding for builder in builders for finding in capture_of(builder).findings):
        assert finding.title and finding.advice.endswith((".", "!")) and finding.gain_text, finding.rule
        assert finding.evidence and all(fact.kind and fact.text for fact in finding.evidence), finding.rule
        assert all(fact.HasField("value") == bool(fact.unit) for fact in finding.evidence), finding.rule
        assert finding.confidence in ("measured", "likely", "possible"), finding.rule
        assert (finding.confidence == "measured") == (not finding.confidence_reason), finding.rule


def test_no_gain_exceeds_the_idle_or_waiting_time_that_it_is_about() -> None:
    for builder in (input_bound(), input_bound(cores=3), input_bound(stages=CHAIN), launching(), handed_over(4000)):
        capture = capture_of(builder)
        lost = capture.devices[0].idle_us if capture.devices else capture.loader.wait_us
        for finding in capture.findings:
            assert finding.gain_us_per_step * capture.steps.count <= lost + 1e-6, finding.rule


def test_gains_agree_in_every_form() -> None:
    capture = capture_of(input_bound())
    for finding in capture.findings:
        if finding.HasField("gain_us_per_step"):
            assert finding.gain_us == pytest.approx(finding.gain_us_per_step * capture.steps.count)
            assert finding.gain_window_share == pytest.approx(finding.gain_us / capture.window_us)
            assert finding.speedup == pytest.approx(1 / (1 - finding.gain_step_share))
        else:
            assert finding.gain_text == "gain unknown"


def test_a_gain_of_one_of_several_ranks_is_not_measured() -> None:
    """At a collective it may wait for the others: then a shorter data wait gains nothing."""
    alone = signals_of(input_bound(steps=8))
    one_of_two = replace(alone, ranks=RankSignals(0, 2, None))
    measured = [named for named in run_rules(alone)[0] if named.finding.confidence == "measured" and named.gain.of_wait]
    assert measured
    for named in run_rules(one_of_two)[0]:
        if named.gain.of_wait and named.gain.us_per_step:
            assert named.finding.confidence != "measured"
            assert "one of 2 ranks" in named.finding.confidence_reason


def in_step_with_others(state: int) -> TraceBuilder:
    """Steps of 10 ms; in most of each the backward pass waits for an all-reduce, `state` by stack samples."""
    builder = run([(MODEL, 100)], states=[RUNNING if number % 10 < 2 else state for number in range(100)])
    builder.top_level["distributedInfo"] = {"rank": 1, "world_size": 4}
    for step in range(10):
        builder.operator(10_000 * step + 2_100, 20, "c10d::allreduce_")
        builder.operator(10_000 * step + 2_100, 7_800, "gloo:all_reduce", tid=9)
    return builder


def test_waiting_for_other_ranks_is_not_the_models_own_work() -> None:
    verdict = capture_of(in_step_with_others(BLOCKED)).verdict
    assert verdict.bound == "comm" and "own work" not in verdict.sentence
    assert verdict.sentence.startswith("The training thread waits for other ranks, in collectives, for 7")
    assert "and for data for 4.00%" in verdict.sentence
    assert verdict.sentence.endswith(
        ". Ranks or `tb-dataplugin ranks` shows which rank it waits for, from captures of several ranks in one "
        "folder, or in one each."
    )


def test_what_ranks_shows_is_said_as_well_beside_the_others_captures() -> None:
    """One capture does not know whether they are there: a page has who holds up whom right below."""
    capture = capture_of(in_step_with_others(BLOCKED))
    said = [capture.verdict.sentence, *(one.text for one in capture.verdict.evidence)]
    assert not any("the other ranks' captures" in one for one in said)


def test_a_rank_that_waits_for_data_for_longer_is_not_said_to_wait_for_others() -> None:
    """They may wait for it; and what collectives take in all has no interval."""
    signals = replace(signals_of(in_step_with_others(BLOCKED)), data_wait_us=80_000.0, wait_cost_us=80_000.0)
    assert signals.ranks is not None
    sentence = judge_run(replace(signals, ranks=replace(signals.ranks, in_collectives=0.088))).sentence
    assert sentence.startswith("The training thread waits for data for 80.0% of the window")
    assert "in collectives, waiting for other ranks included, for 8.80%. Ranks or `tb-dataplugin ranks`" in sentence
    assert "waits for other ranks" not in sentence and "interval" not in sentence


def test_what_the_sentence_says_of_collectives_is_not_said_again() -> None:
    capture = capture_of(in_step_with_others(BLOCKED))
    (fact,) = (fact for fact in capture.verdict.evidence if fact.kind == "collectives")
    assert percent(fact.value) in capture.verdict.sentence and fact.in_sentence
    (other,) = (
        fact for fact in capture_of(in_step_with_others(RUNNING)).verdict.evidence if fact.kind == "collectives"
    )
    assert not other.in_sentence


def test_an_all_reduce_that_runs_beside_the_backward_pass_is_no_waiting() -> None:
    sentence = capture_of(in_step_with_others(RUNNING)).verdict.sentence
    assert "own work" in sentence and "other ranks" not in sentence


def test_where_states_are_unknown_work_is_not_told_from_waiting() -> None:
    builder = in_step_with_others(-1)
    (thread,) = builder.top_level[METADATA_KEY]["lines"]["threads"]
    thread["state"] = [-1] * len(thread["state"])
    assert "own work" not in capture_of(builder).verdict.sentence


def test_a_rank_that_waits_for_others_for_longer_than_for_data_has_no_gain() -> None:
    alone = signals_of(input_bound(steps=8))
    for share, is_known in ((0.5, True), (0.9, False)):
        findings = run_rules(replace(alone, ranks=RankSignals(0, 2, share)))[0]
        found = [named for named in findings if "one of 2 ranks" in named.finding.confidence_reason]
        assert found and all((named.gain.us_per_step is not None) == is_known for named in found)
        assert is_known != ("90.0% of the window" in found[0].finding.confidence_reason)


def test_a_rank_in_collectives_is_not_said_to_be_in_the_models_work() -> None:
    alone = replace(signals_of(input_bound(steps=8)), idle=IdleSignals())
    assert step_sentence(replace(alone, ranks=RankSignals(0, 2, 0.01))) == ""
    said = step_sentence(replace(alone, ranks=RankSignals(0, 2, 0.775)))
    assert said == " For 77.5% of the window it is in collectives, in which ranks wait for one another."


def test_a_rank_says_how_much_of_the_window_it_is_in_collectives() -> None:
    def said(builder: TraceBuilder) -> list[str]:
        return [fact.text for fact in capture_of(builder).verdict.evidence if fact.kind == "collectives"]

    builder = input_bound(steps=8)
    builder.top_level["distributedInfo"] = {"rank": 1, "world_size": 4}
    for step in range(8):
        builder.operator(10_000 * step + 8_100, 20, "c10d::allreduce_")
        builder.operator(10_000 * step + 8_100, 1_500, "gloo:all_reduce", tid=9)
    (text,) = said(builder)
    assert text.startswith("rank 1 of 4: in collectives, waiting for other ranks included, for 15.0% of the window;")
    assert said(input_bound(steps=8)) == []
