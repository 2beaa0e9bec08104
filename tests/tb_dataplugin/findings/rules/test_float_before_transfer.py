from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, handed_over


def test_floats_made_before_the_way_are_told() -> None:
    assert finding_in(handed_over(4000), "float_before_transfer").gain_us_per_step == 4000 * 0.75
