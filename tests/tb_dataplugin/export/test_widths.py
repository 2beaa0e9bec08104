"""Every text keeps to the terminal, from 40 columns on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.cli.main import main
from tb_dataplugin.export.terminal import Style
from tests.conftest import GOLDEN
from tests.rank_traces import captures, write
from tests.tb_dataplugin.cli.test_ranks_command import late_rank

V100 = [str(GOLDEN / f"v100_resnet50_workers{workers}.pt.trace.json.gz") for workers in (0, 4)]
ANNOTATED = str(GOLDEN / "annotate_workers2.pt.trace.json.gz")
CHANGES = ["--workers", "4", "--prefetch", "8", "--stage", "transform::RandomMask=0.5"]
COMMANDS = {
    "compare": ["compare", *V100],
    "compare-stages": ["compare", "--anyway", V100[0], ANNOTATED],
    "ranks": ["ranks", "RANKS"],
    "summary": ["report", "--summary", *V100, ANNOTATED],
    "whatif": ["whatif", ANNOTATED],
    "whatif-several": ["whatif", ANNOTATED, *CHANGES],
}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("columns", [40, 100, 60, 80])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_text_keeps_to_the_terminal(
    command: list[str],
    columns: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(captures(late_rank(1), ranks=3), tmp_path)
    for module in ("report", "compare", "ranks", "whatif"):
        monkeypatch.setattr(f"tb_dataplugin.cli.{module}.style_for", lambda _: Style(width=columns))
    assert main([str(tmp_path) if part == "RANKS" else part for part in command]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= columns
    assert not any(line.endswith(" ") for line in lines)
