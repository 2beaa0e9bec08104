from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, handed_over


def test_a_heavy_collate_is_told() -> None:
    assert finding_in(handed_over(100, collate=3000), "collate_heavy").gain_us_per_step == 3000
