"""25 training scripts as people write them, unchanged under `tb-dataplugin run --`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import public_scripts
from tests.ecosystem import ledger
from tests.ecosystem.ledger import Ran
from tests.public_scripts import CORE, OTHERS, Script


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_scripts.prepare(tmp_path_factory.mktemp("data"))


@pytest.mark.timeout(360)
@pytest.mark.parametrize("script", [*CORE, *OTHERS], ids=lambda script: script.name)
def test_a_script_gives_the_same_results_and_a_stage_table(script: Script, data: Path, tmp_path: Path) -> None:
    try:
        public_scripts.check(script, data, tmp_path)
    except AssertionError as error:
        ledger.note(Ran(script.name, f"failed: {str(error).splitlines()[0][:200]}", is_fine=False))
        raise
    ledger.note(Ran(script.name, script.unseen or ledger.STAGE_TABLE, is_fine=True))


def test_every_script_is_run() -> None:
    files = {path.stem for path in public_scripts.SCRIPTS.glob("*.py")} - {"prepare_data"}
    assert {script.name for script in (*CORE, *OTHERS)} == files
    assert len(files) == 25
