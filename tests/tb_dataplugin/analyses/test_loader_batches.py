from __future__ import annotations

from tb_dataplugin.analyses.loader_batches import find_loader_batches
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


def with_evaluation() -> TraceBuilder:
    """Four steps with batches of two samples; the last one also has two batches of four, of an evaluation."""
    loaders = [
        {"dataset": "Clicks", "batch_size": 2, "num_workers": 0, "iterated": 1},
        {"dataset": "Clicks", "batch_size": 4, "num_workers": 0, "iterated": 2},
    ]
    builder = TraceBuilder().annotated(loaders=loaders)
    for number in range(4):
        builder.step(1000 * number, 1000)
        batch(builder, 1000 * number, 2, 100)
    for number in range(2):
        batch(builder, 3300 + 300 * number, 4, 50)
    return builder


def batch(builder: TraceBuilder, start: float, samples: int, each: float) -> None:
    builder.wait(start, samples * each, "wait::DataLoader")
    for number in range(samples):
        builder.stage("sample::Clicks", start + each * number, each)


def noted(capture: Capture) -> list[str]:
    return [one.message for one in capture.diagnostics if one.code == "several_loaders"]


def test_a_wait_is_for_the_loader_whose_batches_have_as_many_samples() -> None:
    assert find_loader_batches(with_evaluation().trace()).loader.tolist() == [0, 0, 0, 0, 1, 1]


def test_the_report_is_about_the_loader_of_most_steps_and_says_what_others_have() -> None:
    capture = capture_of(with_evaluation())
    assert capture.loader.batch_size == 2
    (text,) = noted(capture)
    assert text.startswith("2 batches in 1 step came from another DataLoader")
    assert "400 µs of the data wait is theirs" in text


def test_samples_of_another_loader_are_not_among_the_slowest() -> None:
    builder = with_evaluation()
    batch(builder, 3900, 4, 20)
    assert {sample.duration_us for sample in capture_of(builder).slow_samples} == {100}


def test_loaders_with_batches_of_one_size_are_not_told_apart() -> None:
    loaders = [{"dataset": "Clicks", "batch_size": 2, "num_workers": 0, "iterated": 1}] * 2
    capture = capture_of(with_evaluation().annotated(loaders=loaders))
    assert noted(capture) == [] and capture.loader.batch_size == 2
