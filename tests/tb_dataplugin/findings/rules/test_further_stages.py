from __future__ import annotations

from tests.tb_dataplugin.findings.cases import capture_of, input_bound
from tests.trace_builder import TraceBuilder

PARTS = {
    "sample::Big": (0.0, 1.0, 1.0),
    "decode::PIL.Image": (0.5, 0.4, 0.4),
    "transform::Flip": (0.9, 0.1, 0.1),
}


def found(builder: TraceBuilder) -> list[tuple[str, str]]:
    return [(finding.rule, finding.stage) for finding in capture_of(builder).findings if finding.stage]


def test_a_large_stage_beside_the_leading_one_has_a_finding_and_a_small_one_has_none() -> None:
    assert found(input_bound(stages=PARTS, steps=12)) == [
        ("leading_stage", "sample::Big"),
        ("further_stages", "decode::PIL.Image"),
    ]


def test_it_has_a_share_and_a_gain() -> None:
    first, second = (each for each in capture_of(input_bound(stages=PARTS, steps=12)).findings if each.stage)
    assert second.title == "decode::PIL.Image caused 40.0% of the data wait"
    why = " ".join(fact.text for fact in second.evidence)
    assert "this frees 4.03 ms per step of each DataLoader worker" in why
    assert 0 < second.gain_us_per_step <= first.gain_us_per_step


def test_where_no_stage_leads_each_large_one_has_a_finding() -> None:
    stages = {f"transform::T{place}": (place / 5, 1 / 5, 1 / 5) for place in range(5)}
    findings = found(input_bound(stages={"sample::Pets": (0.0, 1.0, 1.0), **stages}))
    assert {rule for rule, _ in findings} == {"further_stages"} and len(findings) == 5
