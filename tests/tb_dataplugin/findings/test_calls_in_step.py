"""A stage that runs in the training step as well: what is said of the data wait is about the loader's calls."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.results import Results
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, input_bound, results_of, signals_of
from tests.tb_dataplugin.findings.panel_cases import DECODE, STEPS, panel_in_step, samples_in_step


def calls_of(results: Results, name: str) -> tuple[int, int, int]:
    """In the table of stages, for the loader, and in the step."""
    tables = (results.stages, results.loop.stages, results.loop.in_step)
    table, loader, step = (sum(row.count for row in rows if row.stage.name == name) for rows in tables)
    return table, loader, step


def test_calls_of_the_step_count_in_the_table_only() -> None:
    assert calls_of(results_of(panel_in_step()), DECODE) == (4 * STEPS, STEPS, 3 * STEPS)


def test_workers_and_the_step_may_have_the_same_stages_inside_the_same_ones() -> None:
    results = results_of(samples_in_step())
    table, loader, step = calls_of(results, DECODE)
    assert step and loader and table == loader + step
    row = next(row for row in results.loop.stages if row.stage.name == DECODE)
    assert row.p50_ns == 8e6 and row.self_ns == 8_000_000 * loader
    assert all(row.self_us == 8000 * row.count for row in signals_of(samples_in_step()).stages if row.path[1:])


def test_without_such_calls_the_tables_are_one() -> None:
    results = results_of(input_bound(stages={"sample::Pets": (0.0, 1.0), DECODE: (0.1, 0.8)}))
    assert not results.loop.in_step and results.loop.stages == results.stages


def test_a_replay_has_no_step() -> None:
    assert not results_of(panel_in_step("replay")).loop.in_step


def test_the_evidence_is_that_of_the_calls_that_the_wait_is_for() -> None:
    finding = finding_in(panel_in_step(), "leading_stage")
    facts = evidence_of(finding)
    assert "8 calls for the loader, p50 5.00 ms, longest 5.00 ms" in facts
    assert "Pets.__getitem__ at train.py:8: 100% of cv2.imdecode for the loader" in facts
    assert not any("train.py:15" in fact or "per sample" in fact for fact in facts)


def test_a_bound_says_which_calls_it_leaves() -> None:
    finding = finding_in(panel_in_step(), "leading_stage")
    assert finding.gain_us_per_step == pytest.approx(5000)
    left = f"calls of {DECODE} in the training step take another 3.00 ms per step, which is no part of the gain"
    assert left in evidence_of(finding)


def test_the_line_of_the_step_is_its_own_finding() -> None:
    finding = finding_in(panel_in_step(), "slow_step_line")
    assert finding.title.startswith("train.py:15 takes")
    assert f"The step loads data there ({DECODE})" in finding.advice


def test_lines_of_the_loader_are_those_in_its_waits() -> None:
    results = results_of(panel_in_step())
    assert results.lines is not None
    served = {stage.name: part.samples for stage, part in results.lines.serving.items()}
    whole = {stage.name: part.samples for stage, part in results.lines.stages.items()}
    assert (served[DECODE], whole[DECODE]) == (50 * STEPS, 80 * STEPS)
