"""What README shows is what the commands print today."""

from __future__ import annotations

import re
from pathlib import Path

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse_file, as_report

ROOT = Path(__file__).resolve().parents[2]
TRACE = "tests/golden/traces/annotate_workers2.pt.trace.json.gz"


def test_the_lines_that_readme_quotes_of_the_demo_are_where_it_says() -> None:
    source = (ROOT / "examples/demo.py").read_text().splitlines()
    function, line = re.findall(r"demo\.py:(\d+)", (ROOT / "README.md").read_text())
    assert source[int(function) - 1].lstrip().startswith("def __call__")
    assert "convolve2d(" in source[int(line) - 1]


def test_the_report_in_readme_is_the_commands_own_but_for_what_is_left_out() -> None:
    (block,) = re.findall(
        rf"`{TRACE}`, shortened\):\n\n```text\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    printed = as_text(as_report([analyse_file(ROOT / TRACE).capture]))
    at = 0
    for part in block.split("\n  ...\n"):
        found = printed.find(part.strip("\n").removesuffix("\n  ..."), at)
        assert found >= 0, part
        at = found
