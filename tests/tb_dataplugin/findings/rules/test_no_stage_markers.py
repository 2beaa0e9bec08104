from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder, training_run


def test_a_wait_without_stage_data_asks_to_annotate_the_loader() -> None:
    said = finding_in(TraceBuilder().annotated().step(0, 100).wait(0, 40), "no_stage_markers")
    assert "annotate.loader" in said.code
    assert evidence_of(said) == ["the training thread waits for data for 40.0% of the window"]


def test_whoever_has_a_profiler_of_their_own_keeps_it() -> None:
    said = finding_in(TraceBuilder().step(0, 100).wait(0, 40), "no_stage_markers")
    assert "annotate.auto()" in said.code and "annotate.profile" not in said.code + said.advice
    assert "the same profiler" in said.advice


def test_stage_data_is_not_asked_for_twice() -> None:
    assert finding_of(training_run(), "no_stage_markers") is None


def test_where_stages_are_recorded_it_is_not_said_that_there_are_none() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}], host={"cores": 8}).worker(0)
    for number in range(8):
        builder.step(100 * number, 100).wait(100 * number, 40)
    builder.batch(0, 0, 1, 1, 10, 15, {"sample::Pets": (2, 8)})
    found = finding_in(builder, "no_stage_markers")
    assert found.title == "The run waits for data, but most of that wait has no record of who built the batch"
    assert "annotate.auto()" in found.code
