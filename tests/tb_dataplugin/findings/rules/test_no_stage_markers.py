from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder, training_run


def test_a_wait_without_stage_data_asks_to_annotate_the_loader() -> None:
    said = finding_in(TraceBuilder().step(0, 100).wait(0, 40), "no_stage_markers")
    assert "annotate.loader" in said.code
    assert evidence_of(said) == ["the training thread waits for data for 40.0% of the window"]


def test_stage_data_is_not_asked_for_twice() -> None:
    assert finding_of(training_run(), "no_stage_markers") is None
