"""`report --format markdown`: runs, ranks and captures in a form that a site shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.report_markdown import report_markdown
from tb_dataplugin.report.report_pb2 import Capture, Report, Stage, Verdict
from tests.rank_traces import Spent, captures, write
from tests.tb_dataplugin.test_watchfile import RUN, event, interval
from tests.tb_dataplugin.test_watchfile import write as write_run


def test_a_folder_of_ranks_with_its_run_is_three_kinds_of_sections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    write_run(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), event(1, "stall", 30))
    assert main(["report", str(tmp_path), "--format", "markdown", "--no-cache"]) == 0
    text = capsys.readouterr().out
    assert "### Whole run: 600 steps in 60.0 s" in text
    assert "- Epoch 2, batch 9: data wait 25.0 s, usually 20.0 ms." in text
    assert "### Ranks of .: Rank 1 holds up the others" in text
    assert "| 1 | " in text and "decode::jpeg |" in text
    assert "### rank0: " in text and "| decode::jpeg | 8 |" in text


def test_names_from_a_trace_are_no_markdown() -> None:
    stage = Stage(kind="transform", label="<b>|x", count=1)
    report = Report(captures=[Capture(name="a_b_", verdict=Verdict(sentence="*"), stages=[stage])])
    text = report_markdown(report)
    assert "### a\\_b\\_: \\*" in text and "transform::\\<b\\>\\|x" in text
