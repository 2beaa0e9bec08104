"""Verdicts of idle time that one gap, or a few, have most of: it happened once."""

from __future__ import annotations

from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, launching, signals_of
from tests.trace_builder import TraceBuilder

STEADY = "because the host launches operators more slowly than the device finishes them"


def idling(*gaps: float, per_step: int | None = None, name: str = "cudaFree") -> TraceBuilder:
    """A kernel of 10 us, then gaps of these lengths in operators, each with a kernel of 10 us at its end; `per_step`
    gaps to a step, without any where that is None. Most of each gap is in a call of that name, which does not end it.
    """
    builder, at, begin = TraceBuilder(), 10.0, 0.0
    builder.call("cudaLaunchKernel", 0, 0, 1000).kernel(0, 10, correlation=1000)
    for number, length in enumerate(gaps):
        builder.operator(at, length, "aten::conv2d").call(name, at + 0.2 * length, 0.7 * length, 2000 + number)
        builder.call("cudaLaunchKernel", at + 0.95 * length, 0.05 * length, number).kernel(
            at + length, 10, correlation=number
        )
        at += length + 10
        if per_step is not None and (number + 1) % per_step == 0:
            builder.step(begin, at - begin)
            begin = at
    return builder


def verdict_of(builder: TraceBuilder) -> str:
    return capture_of(builder).verdict.sentence


def test_a_single_gap_with_most_of_the_launches_stands_in_the_verdict_in_place_of_a_habit() -> None:
    builder = idling(30_000, 10_000, *[100.0] * 50)
    said = verdict_of(builder)
    assert STEADY not in said and "of that in a single gap (30.0 ms)" in said
    assert "because it waits for the host to launch work, 66.7% of that" in said
    assert "how much of the idle time is data wait is unknown. In that gap" in said
    assert "In that gap the host was in cudaFree for 21.0 ms." in said
    assert said.endswith("A first use may take that long: capture after a few warm-up steps to see what remains.")
    finding = finding_in(builder, "launch_bound")
    assert finding.title == "A single launch kept the device waiting for 30.0 ms"
    assert "in that gap the host was in cudaFree for 21.0 ms" in evidence_of(finding)


def test_many_gaps_are_a_habit_and_keep_their_words() -> None:
    for builder in (idling(*[100.0] * 50, per_step=5), idling(*[100.0] * 50), launching()):
        said = verdict_of(builder)
        assert STEADY in said and "single gap" not in said and "warm-up" not in said
        assert "CUDA graphs" in finding_in(builder, "launch_bound").advice


def test_a_few_gaps_alike_and_far_longer_than_all_others_are_no_habit_either() -> None:
    builder = idling(5000, 4800, *[100.0] * 46, per_step=6)
    assert "68.1% of that in 2 gaps (9.80 ms)" in verdict_of(builder)
    assert "First uses may take that long" in verdict_of(builder)
    assert finding_in(builder, "launch_bound").title == "2 launches kept the device waiting for 9.80 ms"


def test_a_long_gap_in_each_step_is_a_habit() -> None:
    for builder in (
        idling(5000, 100, 100, 4800, 100, 100, per_step=3),
        idling(5000, 100, 4900, 100, 4800, 100, per_step=2),
        idling(5000, 100, 4900, 100, 4800, 100, 4700, 100, 100, 100, per_step=2),
    ):
        assert STEADY in verdict_of(builder) and not signals_of(builder).idle.lone
        assert finding_in(builder, "launch_bound").severity != "low"


def test_several_long_gaps_are_only_possibly_first_uses_where_no_steps_show_that_they_are_no_habit() -> None:
    assert finding_in(idling(5000, 4800, *[100.0] * 46), "launch_bound").confidence == "possible"
    assert finding_in(idling(5000, 4800, *[100.0] * 46, per_step=6), "launch_bound").confidence == "likely"


def test_work_that_was_launched_before_is_no_single_launch() -> None:
    """The device began late by itself: nothing of the host's took long."""
    builder = TraceBuilder().step(0, 10_000).wait(0, 1)
    builder.call("cudaLaunchKernel", 1, 5, 7).call("cudaLaunchKernel", 6, 5, 8)
    builder.kernel(10, 100, correlation=7).kernel(9000, 900, correlation=8)
    said = verdict_of(builder)
    assert "work that was already launched had not started, 100% of that in a single gap (8.89 ms)" in said
    assert "warm-up" not in said and finding_of(builder, "launch_bound") is None


def test_a_single_gap_of_another_cause_is_said_without_advice_on_first_uses() -> None:
    builder = TraceBuilder().step(0, 10_000).wait(0, 1).call("cudaGetDevice", 1, 1, 3)
    builder.kernel(0, 10, correlation=-1)
    for number in range(5):
        at = 8000 + 200 * number
        builder.operator(at - 30, 40).call("cudaLaunchKernel", at, 5, number).kernel(at + 10, 150, correlation=number)
    said = verdict_of(builder.operator(9990, 10))
    assert "in Python outside all operators, " in said and "of that in a single gap" in said and "warm-up" not in said
