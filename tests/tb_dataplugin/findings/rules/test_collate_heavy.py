from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.rules.collate_heavy import check
from tests.tb_dataplugin.findings.cases import finding_in, handed_over, signals_of


def test_a_heavy_collate_is_told() -> None:
    assert finding_in(handed_over(100, collate=3000), "collate_heavy").gain_us_per_step == 3000


@pytest.mark.parametrize(
    ("source", "computes"),
    [
        ("np.maximum(part, np.exp(-d), out=part)", True),
        ("batch[i, : len(row)] = row", False),
        ("images = torch.stack(images)", False),
    ],
)
def test_a_collate_that_computes_is_told_its_line_and_not_to_stack(source: str, computes: bool) -> None:
    signals = signals_of(handed_over(100, collate=3000))
    line = HotLine(f"`{source}` in Peaks.draw at train.py:9", "train.py:9", 0.9, source)
    found = check(replace(signals, stage_lines={"collate::default_collate": line}))
    assert isinstance(found, Finding)
    assert ("begin there" in found.advice, "torch.zeros" in found.code) == (computes, not computes)
    assert "after collate" not in found.advice
