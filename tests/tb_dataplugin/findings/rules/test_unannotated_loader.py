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


def test_one_in_most_steps_is_not_told_apart() -> None:
    assert finding_of(trained(every=1), RULE) is None
