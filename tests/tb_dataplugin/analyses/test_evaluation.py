"""A window that lies in an evaluation says so, and has no rate of a training step."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.evaluation import find_evaluation
from tb_dataplugin.compare.programs import why_not_comparable
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder

TRAINS = "autograd::engine::evaluate_function: AddmmBackward0"
STEPS = 10


def window(trained: int = 0, loaders: int = 2, source: str = "batch", **steps: Any) -> TraceBuilder:
    """`trained`: the first so many of its steps have a backward pass."""
    settings = {"name": "DataLoader", "dataset": "Shards", "num_workers": 0, "batch_size": 4, "iterated": 1}
    record = {"source": source, "boundaries_us": [100.0 * step for step in range(STEPS + 1)], **steps}
    builder = TraceBuilder().annotated(loaders=[settings] * loaders, steps=record)
    for step in range(STEPS):
        begin = 100 * step
        builder.wait(begin, 60, "wait::DataLoader")
        for sample in range(4):
            builder.stage("sample::Shards", begin + 10 * sample, 10)
        builder.operator(begin + 70, 5)
        if step < trained:
            builder.operator(begin + 80, 10, TRAINS)
    return builder


def capture_of(builder: TraceBuilder) -> Capture:
    return analyse(builder.trace()).capture


def evaluation(capture: Capture) -> str:
    return next((doubt.sentence for doubt in capture.doubts if doubt.code == "evaluation"), "")


def test_a_recorded_evaluation_is_said_first_and_has_no_rate_of_a_training_step() -> None:
    capture = capture_of(window(evaluates=True))
    assert "all its batches of the DataLoader of Shards were taken without gradients" in evaluation(capture)
    assert "--wait" in evaluation(capture)
    assert "If the program trains after it, record a window that opens later; if it ends with it" in evaluation(capture)
    assert capture.verdict.sentence.startswith("This window lies in an evaluation, and shows nothing of the training.")
    assert capture.throughput.samples_per_s and not capture.throughput.HasField("device_per_s")


def test_a_window_whose_batches_are_the_programs_own_work_is_read_as_before() -> None:
    """It trains, or predicts and trains nothing, as far as the recorder knows."""
    capture = capture_of(window(evaluates=False))
    assert evaluation(capture) == "" and "evaluation" not in capture.verdict.sentence
    assert capture.throughput.HasField("device_per_s")


@pytest.mark.parametrize(
    ("builder", "kind"),
    [
        (window(), "possible"),
        (window(trained=3), "mostly"),
        (window(trained=8), None),
        (window(loaders=1), None),
        (window(source="optimizer"), None),
    ],
)
def test_without_that_record_the_work_of_the_steps_shows_what_may_be(builder: TraceBuilder, kind: str | None) -> None:
    found = find_evaluation(builder.trace())
    assert (found and found.kind) == kind


def test_what_is_only_possible_is_said_as_a_condition() -> None:
    capture = capture_of(window())
    assert "if it trains with another one, the window lies in an evaluation" in evaluation(capture)
    assert not capture.throughput.HasField("device_per_s")
    assert "7 of 10 steps run no backward pass" in evaluation(capture_of(window(trained=3)))


def test_a_trace_without_operators_shows_nothing_of_it() -> None:
    settings = [{"name": "DataLoader", "num_workers": 0, "iterated": 1}] * 2
    builder = TraceBuilder().annotated(loaders=settings, steps={"source": "batch", "boundaries_us": [0.0, 50.0, 100.0]})
    assert find_evaluation(builder.wait(0, 20).wait(50, 20).trace()) is None


def test_steps_of_the_training_before_it_are_no_measure_of_an_evaluation() -> None:
    def codes(evaluates: bool) -> list[str]:
        capture = capture_of(window(evaluates=evaluates, before_us=[300.0 + step % 3 for step in range(30)]))
        return [doubt.code for doubt in capture.doubts]

    assert codes(evaluates=False) == ["calm_window"]
    assert codes(evaluates=True) == ["evaluation"]


def test_an_evaluation_is_not_compared_with_a_training() -> None:
    def run(capture: Capture) -> Run:
        return Run("run", (capture,))

    training, evaluating = run(capture_of(window(trained=10))), run(capture_of(window(evaluates=True)))
    assert why_not_comparable([training], [evaluating]) == (
        "most windows after lie in an evaluation, or may, by their reports, and those before do not"
    )
    assert why_not_comparable([evaluating], [training]).startswith("most windows before lie in an evaluation")
    assert why_not_comparable([evaluating], [evaluating]) == ""
