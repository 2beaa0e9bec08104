from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of, input_bound

BUILDING_US = 20_000


def test_a_collector_that_takes_a_third_of_the_build_time_is_named() -> None:
    said = finding_in(input_bound(costs={"gc_us": round(BUILDING_US * 0.3)}), "garbage_collection")
    assert "in DataLoader workers" in said.title
    assert "gc.freeze()" in said.advice
    assert 0 < said.gain_us_per_step <= 8000
    assert said.confidence == "likely", "a window of four steps"


def test_a_little_collecting_is_not_worth_a_word() -> None:
    assert finding_of(input_bound(costs={"gc_us": round(BUILDING_US * 0.02)}), "garbage_collection") is None
    assert finding_of(input_bound(), "garbage_collection") is None
