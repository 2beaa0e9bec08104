"""Without DataLoader workers torch's profiler records the operators inside stages: so much of these is its own time."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.report.report_pb2 import Capture, Finding, Report, Stage
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of
from tests.trace_builder import TraceBuilder

STEPS, STEP, COLLATE = 8, 1000.0, 400.0


def capture(operators: int, operator_us: float | None = 1.0) -> Capture:
    """Steps of 1 ms without workers: 0.3 ms for a sample, 0.4 ms of collate with so many operators, which cost 2 us
    each to record where the probe took 1 us.
    """
    overhead: dict[str, Any] = {} if operator_us is None else {"operator_us": operator_us}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], overhead=overhead)
    for number in range(STEPS):
        begin = STEP * number
        builder.step(begin, STEP).wait(begin, 700, "wait::DataLoader").stage("sample::Clicks", begin, 300)
        builder.stage("collate::pad", begin + 300, COLLATE)
        for place in range(operators):
            builder.operator(begin + 301 + 3 * place, 2, "aten::fill_")
    return capture_of(builder)


def stage(capture: Capture, name: str) -> Stage:
    return next(one for one in capture.stages if one.path[-1] == name)


def collating(capture: Capture) -> Finding:
    return next(one for one in capture.findings if one.stage == "collate::pad")


def test_a_stage_has_the_profilers_part_of_its_time() -> None:
    found = capture(100)
    collate, sample = stage(found, "collate::pad"), stage(found, "sample::Clicks")
    assert collate.operators == 800 and collate.profiler_us == pytest.approx(1600)
    assert (sample.operators, sample.profiler_us, sample.profiler_text) == (0, 0, "")
    assert "100 operators per call" in collate.profiler_text and "50.0% of its self time" in collate.profiler_text


def test_nothing_is_said_to_be_saved_that_a_run_without_the_profiler_does_not_have() -> None:
    found = collating(capture(100))
    assert found.gain_us_per_step == pytest.approx(200)
    assert any("another 200 µs per step or so is torch's profiler" in text for text in evidence_of(found))
    assert found.confidence != "measured"
    assert collating(capture(0)).gain_us_per_step == pytest.approx(400)


def test_stages_say_it_in_the_terminal_and_below_the_verdict() -> None:
    found = capture(100)
    text = " ".join(as_text(Report(captures=[found])).split())
    assert "collate::pad: 100 operators per call that torch's profiler recorded here are about 50.0%" in text
    assert any("(about 1.60 ms of it torch's profiler)" in fact.text for fact in found.verdict.evidence)


def test_few_operators_are_not_worth_a_word() -> None:
    found = capture(5)
    assert not stage(found, "collate::pad").profiler_text
    assert collating(found).gain_us_per_step == pytest.approx(400)


def test_the_profiler_never_has_all_of_a_stage() -> None:
    assert stage(capture(100, operator_us=50.0), "collate::pad").profiler_us == pytest.approx(0.8 * 8 * 400)


def test_what_an_operator_costs_may_be_unknown() -> None:
    found = capture(100, operator_us=None)
    assert not stage(found, "collate::pad").HasField("operators")
    assert stage(found, "sample::Clicks").operators == 0
    assert collating(found).gain_us_per_step == pytest.approx(400)
