"""Calls that began before the window and have a considerable part of its data wait."""

from __future__ import annotations

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder

MS = 1000


def cut(slow_ms: float) -> TraceBuilder:
    """Ten batches of one sample each: the first began 50 ms before the window, and took `slow_ms`, the others 4 ms."""
    loaders = [{"num_workers": 1, "batch_size": 1, "dataset": "Birds"}]
    builder = TraceBuilder().annotated(loaders=loaders).worker(0)
    at = 100.0 * MS
    finished = at - 50 * MS + slow_ms * MS
    for number in range(10):
        length = slow_ms * MS if number == 0 else 4.0 * MS
        start = finished - length
        stages = {"sample::Birds": (start, length), "decode::PIL.Image": (start + 10, length - 20)}
        builder.step(at, finished + 1 * MS - at).wait(at, finished + 20 - at, "wait::DataLoader")
        builder.batch(number, 0, 0, start, finished, finished + 10, stages)
        at, finished = finished + 1 * MS, finished + 5 * MS
    return builder


def report(slow_ms: float) -> Capture:
    return analyse(cut(slow_ms).trace()).capture


def test_the_stage_says_what_of_its_data_wait_is_of_the_call_and_whose_it_is() -> None:
    found = report(150)
    (stage,) = (stage for stage in found.stages if stage.label == "PIL.Image")
    assert stage.count == 9 and stage.max_us < 5 * MS
    assert stage.before_text.endswith(
        "is of 1 call that began before the window and took 150 ms (index 0); the other numbers are without it."
    )
    (finding,) = (one for one in found.findings if one.title.startswith("One call of decode::PIL.Image took 150 ms"))
    assert "10 calls" in " ".join(one.text for one in finding.evidence)
    assert "1 call that began before the window" in " ".join(one.text for one in finding.evidence)


def test_its_sample_is_the_slowest_and_said_to_have_begun_before() -> None:
    found = report(150)
    slowest = found.slow_samples[0]
    assert (slowest.index, slowest.begun_before, slowest.start_us) == (0, True, 0)
    assert not any(sample.begun_before for sample in found.slow_samples[1:])
    assert "begun before the window" in as_text(as_report([found]))
    (finding,) = (one for one in found.findings if one.title.startswith("1 of 10 samples takes"))
    assert "index 0: 150 ms, begun before the window" in " ".join(one.text for one in finding.evidence)


def test_nothing_is_said_of_a_call_that_has_little_of_the_wait() -> None:
    found = report(52)
    assert not any(stage.before_text for stage in found.stages)
    assert not any(sample.begun_before for sample in found.slow_samples), "nearly all of it was before"


def test_chosen_steps_have_only_the_samples_that_are_theirs() -> None:
    found = analyse(cut(150).trace(), AnalysisOptions(steps=StepRange(2, 4))).capture
    assert {sample.begun_before for sample in found.slow_samples} == {False}
