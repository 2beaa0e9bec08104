"""A comparison as Markdown says what the text says, and nothing in it acts on the page that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.compare_markdown import compare_markdown, literal
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN
from tests.trace_builder import TraceBuilder


def test_names_from_traces_do_not_act() -> None:
    assert literal("<img src=x>|[a](b)\n@all `x`") == r"\<img src=x\>\|\[a\]\(b\) \@all \`x\`"


def test_a_table_has_the_total_and_each_stage() -> None:
    comparison = pb.Comparison(sentence="Slower: 10 → 20 ms per step", unit="step")
    comparison.time.title, comparison.time.outcome, comparison.time.interval_text = "step", "slower", "+90% to +110%"
    comparison.time.before_us, comparison.time.after_us, comparison.time.change = 10_000, 20_000, 1.0
    comparison.stages.add(title="decode::a|b", outcome="new", after_us=5.0, interval_text="new")
    lines = compare_markdown(comparison).splitlines()
    assert lines[0] == "### Data pipeline: Slower: 10 → 20 ms per step"
    assert "| **step** | 10.0 ms | 20.0 ms | +100% | \\+90% to \\+110% |" in lines
    assert rf"| decode::a\|b | {UNKNOWN} | 5.00 µs | new | new |" in lines


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        TraceBuilder().step(0, 100).wait(10, 30).kernel(50, 40).write(tmp_path / f"{name}.pt.trace.json")
    words = [str(tmp_path / f"{name}.pt.trace.json") for name in "ab"]
    assert main(["compare", *words, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("### Data pipeline: ")
