"""Five of the training scripts of `tests/ecosystem/scripts`, for which nothing but torch and torchvision is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import public_scripts
from tests.public_scripts import CORE, Script


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_scripts.prepare(tmp_path_factory.mktemp("data"))


@pytest.mark.one_of(5)
@pytest.mark.parametrize("script", CORE, ids=lambda script: script.name)
def test_a_script_gives_the_same_results_and_a_stage_table(script: Script, data: Path, tmp_path: Path) -> None:
    public_scripts.check(script, data, tmp_path)
