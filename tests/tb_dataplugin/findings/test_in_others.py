"""A stage that the batches of another DataLoader go through as well: its gain is of the loop alone, and says so."""

from __future__ import annotations

from tests.tb_dataplugin.analyses.test_apart import with_evaluation
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in

SAID = "as well: what a change saves there is not in this gain"
IF = "with the other DataLoader, if that takes as long as now"


def test_a_stage_of_both_dataloaders_says_that_the_other_one_is_not_in_its_gain() -> None:
    """A stranger's faster line saved 82% of the whole loop, where "62.6% with the other DataLoader" was the bound."""
    found = finding_in(with_evaluation(), "leading_stage")
    assert f"it caused 144 ms of the data wait for the other DataLoader {SAID}" in evidence_of(found)
    assert IF in found.gain_text


def test_what_is_of_the_loops_dataloader_alone_does_not() -> None:
    found = finding_in(with_evaluation(), "single_process_loading")
    assert not any(SAID in text for text in evidence_of(found)) and IF not in found.gain_text
    assert "with the other DataLoader" in found.gain_text


def test_nor_a_stage_that_the_other_one_has_not() -> None:
    builder = with_evaluation()
    for event in builder.events:
        if event["name"] == "sample::Clicks" and event["dur"] == 1_000 and is_of_evaluation(event["ts"]):
            event["name"] = "sample::Other"
    leading = next(found for found in capture_of(builder).findings if found.stage == "sample::Clicks")
    assert not any(SAID in text for text in evidence_of(leading)) and IF not in leading.gain_text


def is_of_evaluation(at: float) -> bool:
    """Seven steps of 10 ms, then one that goes on for 52 ms."""
    return at % (8 * 10_000 + 3 * 17_000 + 1_000) >= 8 * 10_000
