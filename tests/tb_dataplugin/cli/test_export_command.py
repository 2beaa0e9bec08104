from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tests.trace_builder import TraceBuilder, training_run

HOT = (("RandomMask.dilate", "/home/me/train.py", 41), ("convolve2d", "/lib/site-packages/scipy/signal/a.py", 7))
WARM = (("RandomMask.crop; twice", "/home/me/train.py", 52),)


def sampled(folder: Path) -> Path:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 8000, "wait::DataLoader")
    builder.stage("transform::RandomMask", 0, 8000)
    builder.stacks([40 * (number + 0.5) for number in range(200)], [WARM] * 25 + [HOT] * 150 + [WARM] * 25)
    return builder.write(folder / "run.pt.trace.json")


def test_collapsed_stacks_begin_with_their_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(sampled(tmp_path)), "--format", "collapsed", "--no-cache"]) == 0
    hot, warm = capsys.readouterr().out.splitlines()
    assert hot.startswith("transform::RandomMask;RandomMask.dilate (train.py:41);convolve2d (a.py:7) ")
    assert int(hot.rpartition(" ")[2]) == pytest.approx(6000, rel=0.02)
    assert warm.startswith("transform::RandomMask;RandomMask.crop, twice (train.py:52) ")


def test_speedscope_gets_threads_and_stages_in_time_order(tmp_path: Path) -> None:
    out = tmp_path / "lines.json"
    assert main(["export", str(sampled(tmp_path)), "--no-cache", "-o", str(out)]) == 0
    written = json.loads(out.read_text())
    thread, profile = written["profiles"]
    assert thread["name"].endswith(": stages")
    assert profile["name"].endswith("transform::RandomMask")
    assert profile["endValue"] == pytest.approx(sum(profile["weights"]))
    names = [[written["shared"]["frames"][frame]["name"] for frame in stack] for stack in profile["samples"]]
    assert names == [["RandomMask.crop; twice"], ["RandomMask.dilate", "convolve2d"], ["RandomMask.crop; twice"]]
    assert [["transform::RandomMask", *stack] for stack in names] == [
        [written["shared"]["frames"][frame]["name"] for frame in stack] for stack in thread["samples"]
    ]
    assert profile["weights"] == pytest.approx([1000, 6000, 1000], rel=0.05)


def test_without_stacks_one_line_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run().write(tmp_path / "run.pt.trace.json")
    assert main(["export", str(path), "--no-cache"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "lines=True" in error
