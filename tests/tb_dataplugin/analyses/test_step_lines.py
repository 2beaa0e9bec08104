from __future__ import annotations

import pytest

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_lines import StepLines
from tests.tb_dataplugin.findings.cases import results_of
from tests.tb_dataplugin.findings.step_cases import MIXING, MODEL, caller, run


def step_of(results: Results) -> StepLines:
    assert results.lines is not None
    assert results.lines.step is not None
    return results.lines.step


def test_code_of_a_generator_around_the_loader_has_its_share_with_an_interval() -> None:
    (around,) = step_of(results_of(run([(MIXING, 80), (MODEL, 20)], caller()))).around
    assert around.place.function == "augmented"
    assert around.part.share == pytest.approx(0.8, abs=0.02)
    assert 0.70 < around.part.low < 0.75
    assert 0.86 < around.part.high < 0.90
    assert around.row is not None
    assert around.row.place.short == "train.py:12"
    assert around.is_certain
