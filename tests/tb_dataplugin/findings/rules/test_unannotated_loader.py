from __future__ import annotations

from tests.tb_dataplugin.analyses.test_waits_of_others import trained
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of

RULE = "unannotated_loader"


def test_it_is_said_what_to_annotate_and_not_that_there_is_no_stage_data() -> None:
    found = finding_in(trained(), RULE)
    assert "annotate.auto()" in found.code and "annotate.loader(val)" in found.code
    assert found.title == "Another DataLoader, iterated in steps 1, 9 and 17, is not annotated"
    assert evidence_of(found) == ["waits for its batches: 135 ms, 96.5% of the data wait"]
    assert not found.HasField("gain_us_per_step")
    assert finding_of(trained(), "no_stage_markers") is None


def test_one_that_every_step_draws_from_is_the_loops_and_to_be_annotated_too() -> None:
    found = finding_in(trained(every=1), RULE)
    assert found.title == "Another DataLoader, drawn from in every step, is not annotated"
    assert evidence_of(found) == ["waits for its batches: 1.08 s, 99.5% of the data wait"]
    assert (found.severity, found.HasField("gain_us_per_step")) == ("high", False)
    assert "annotate.loader(other)" in found.code and "annotate.auto()" in found.code
    assert finding_of(trained(every=1), "no_stage_markers") is None
