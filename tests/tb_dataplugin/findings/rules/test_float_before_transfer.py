from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, handed_over


def test_floats_made_before_the_way_are_told() -> None:
    said = finding_in(handed_over(4000), "float_before_transfer")
    assert said.gain_us_per_step == 4000 * 0.75
    assert "device" not in said.advice + said.code and "Normalize" in said.advice, "the capture has none"
