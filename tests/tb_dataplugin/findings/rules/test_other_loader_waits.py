"""What an evaluation waits for may be the first cause of the verdict: it has a finding, too."""

from __future__ import annotations

from tests.tb_dataplugin.analyses.test_apart import with_evaluation
from tests.tb_dataplugin.analyses.test_waits_of_others import trained
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of

RULE = "other_loader_waits"


def test_an_evaluation_that_has_a_third_of_the_window_and_no_workers() -> None:
    found = finding_in(with_evaluation(), RULE)
    assert found.title.endswith(
        "of the window is data wait for another DataLoader of Clicks (batches of 16, num_workers=0), "
        "iterated in steps 8, 16 and 24"
    )
    assert found.severity == "high" and not found.HasField("gain_us_per_step")
    assert evidence_of(found) == ["waits for its batches: 144 ms"]
    assert "num_workers=2" in found.code


def test_of_one_with_workers_these_are_not_advised() -> None:
    builder = with_evaluation()
    builder.top_level["dataPipeline"]["loaders"][0]["num_workers"] = 2
    found = finding_of(builder, RULE)
    assert found is None or not found.code


def test_a_short_one_and_one_that_is_not_annotated_have_none() -> None:
    assert finding_of(with_evaluation(steps=240, every=120, batches=1), RULE) is None
    assert finding_of(trained(), RULE) is None
