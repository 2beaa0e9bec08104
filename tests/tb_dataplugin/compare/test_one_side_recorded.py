"""Without DataLoader workers stages run under torch's profiler, with workers they do not; and spans that only one side
has took time to record: that is no change."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.report.report_pb2 import Capture, Comparison, Quantity
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

STEP = 2000.0
EACH_US = 2.0
"""What recording an operator adds, of which the probe has half."""


def loop(operators: int, collate_us: float = 400.0, operator_us: float = EACH_US / 2) -> Capture:
    """24 steps without workers; recording these operators makes collate longer by what they cost."""
    settings = {"batch_size": 1, "num_workers": 0}
    builder = TraceBuilder().annotated(loaders=[settings], overhead={"operator_us": operator_us})
    for number in range(24):
        begin, longer = STEP * number, 1 + (number % 3 - 1) / 100
        collate = (collate_us + EACH_US * operators) * longer
        builder.step(begin, STEP).wait(begin, 300 + collate, "wait::DataLoader").stage("sample::Clicks", begin, 300)
        builder.stage("collate::pad", begin + 300, collate)
        for place in range(operators):
            builder.operator(begin + 301 + 3 * place, 2, "aten::fill_")
    return capture_of(builder)


def worked() -> Capture:
    """The same collate, in a worker."""
    builder = TraceBuilder().annotated(
        loaders=[{"batch_size": 1, "num_workers": 1}], overhead={"operator_us": EACH_US / 2}
    )
    builder.worker(0)
    for number in range(26):
        end = STEP * number
        spans = {"sample::Clicks": (end - 900.0, 300.0), "collate::pad": (end - 500.0, 400.0 + number % 3 * 4 - 4)}
        builder.batch(number, 0, end - 1000, end - 1000, end, end if 0 <= end < 24 * STEP else None, spans)
    for number in range(24):
        builder.step(STEP * number, STEP).wait(STEP * number, 10, "wait::DataLoader")
    return capture_of(builder)


def collating(comparison: Comparison) -> Quantity:
    return next(one for one in comparison.stages if one.name == "collate::pad")


def notes(comparison: Comparison) -> str:
    return " ".join(note.message for note in comparison.diagnostics if note.code == "profiler_on_one_side")


@pytest.mark.parametrize("turned", [False, True])
def test_workers_do_not_make_a_stage_faster_that_they_run_without_the_profiler(turned: bool) -> None:
    sides = [loop(150)], [worked()]
    comparison = compare(*(reversed(sides) if turned else sides))
    row = collating(comparison)
    assert row.before_us == pytest.approx(400, rel=0.02) and row.after_us == pytest.approx(400, rel=0.02)
    assert row.outcome not in ("faster", "slower")
    when = "after" if turned else "before"
    assert f"{when}: less about 300 µs that recording took" in row.interval_text
    assert "collate" not in comparison.sentence
    assert "torch's profiler" in notes(comparison)


def test_what_both_sides_have_recorded_stays() -> None:
    """A probe in a busy moment says more of the same operators."""
    row = collating(compare([loop(100)], [loop(100, operator_us=EACH_US)]))
    assert row.before_us == row.after_us == pytest.approx(600, rel=0.02)
    assert "recording" not in row.interval_text and row.outcome == "identical"


def test_a_collate_with_fewer_operators_gained_only_what_a_run_gains() -> None:
    comparison = compare([loop(150)], [loop(0, collate_us=50)])
    row = collating(comparison)
    assert row.outcome == "faster" and row.change == pytest.approx(-350 / 400, abs=0.02)


def test_a_stage_that_is_faster_in_spite_of_the_error_is_said_to_be() -> None:
    comparison = compare([loop(20, collate_us=1000)], [worked()])
    assert collating(comparison).outcome == "faster"


def reads(many: int) -> Capture:
    """24 steps with a sample of 200 us, and so many reads in it, of which recording each takes 4 us more."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 0}], overhead={"marker_us": 2.0})
    for number in range(24):
        begin, longer = STEP * number, 1 + (number % 3 - 1) / 100
        took = (200 + 5 * many) * longer
        builder.step(begin, STEP).wait(begin, took, "wait::DataLoader").stage("sample::Clicks", begin, took)
        for place in range(many):
            builder.stage("read::file", begin + 1 + 4 * place, 1.8)
    return capture_of(builder)


def test_a_sample_does_not_get_faster_by_spans_that_are_gone() -> None:
    comparison = compare([reads(100)], [reads(0)])
    row = next(one for one in comparison.stages if one.name == "sample::Clicks")
    assert row.before_us == pytest.approx(200, rel=0.03) and row.after_us == pytest.approx(200, rel=0.03)
    assert "before: less about 315 µs that recording took" in row.interval_text
    assert row.outcome not in ("faster", "slower") and notes(comparison)


@pytest.mark.parametrize("turned", [False, True])
def test_a_plain_capture_has_no_stages_that_came_or_went(turned: bool) -> None:
    plain = TraceBuilder()
    for number in range(24):
        plain.step(STEP * number, STEP).wait(STEP * number, 700, "enumerate(DataLoader)#_SingleProcessDataLoaderIter")
    sides = [capture_of(plain)], [loop(150)]
    comparison = compare(*(reversed(sides) if turned else sides))
    assert {one.outcome for one in comparison.stages} == {"unknown"}
    assert {one.interval_text for one in comparison.stages} == {"not recorded"}
    assert not {"is new", "is gone"} & {fact.text.partition(":")[0][-6:] for fact in comparison.evidence}


def test_a_cost_that_one_side_does_not_know_is_said() -> None:
    """By a probe in a busy moment recording would be all of the stage: nothing is taken off."""
    comparison = compare([loop(150, operator_us=50.0)], [worked()])
    assert "to record the operators of collate::pad is not known on one side" in notes(comparison)
    assert "not known" not in notes(compare([loop(150)], [worked()]))
