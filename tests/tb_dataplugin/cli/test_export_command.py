from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.as_stacks import as_collapsed, as_speedscope
from tb_dataplugin.pipeline import analyse_file, as_report
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


def test_speedscope_gets_threads_and_stages_in_time_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "lines.json"
    assert main(["export", str(sampled(tmp_path)), "--no-cache", "-o", str(out)]) == 0
    assert f"wrote {out}" in capsys.readouterr().err
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


def restless(folder: Path) -> Path:
    """A transform whose functions take turns, each for one sample: more than a picture in time order has room for."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 40_000).wait(0, 38_000, "wait::DataLoader")
    builder.stage("transform::RandomMask", 0, 38_000)
    turns = [
        (
            ("RandomMask.turn", "/home/me/train.py", 30 + 10 * (number % 4)),
            ("helper", "/lib/site-packages/turns/h.py", number),
        )
        for number in range(1500)
    ]
    builder.stacks([25 * (number + 0.5) for number in range(1500)], turns)
    return builder.write(folder / "run.pt.trace.json")


def test_exported_shares_are_those_of_the_report_where_pictures_have_no_room(tmp_path: Path) -> None:
    trace = restless(tmp_path)
    (stage,) = analyse_file(trace).capture.lines.stages
    assert stage.in_order.left_out and stage.tree.left_out
    assert main(["export", str(trace), "--no-cache", "--format", "collapsed", "-o", str(tmp_path / "c")]) == 0
    assert main(["export", str(trace), "--no-cache", "-o", str(tmp_path / "s")]) == 0
    times = [line.rpartition(" ") for line in (tmp_path / "c").read_text().splitlines()]
    profile = json.loads((tmp_path / "s").read_text())["profiles"][-1]
    frames = json.loads((tmp_path / "s").read_text())["shared"]["frames"]
    assert sum(profile["weights"]) == pytest.approx(stage.time_us)
    assert len(stage.lines) == 4
    for row in stage.lines:
        collapsed = sum(int(us) for stack, _, us in times if f"({row.place})" in stack) / stage.time_us
        mine = [frame["name"] == row.function and frame["line"] == row.line for frame in frames]
        within = (any(mine[frame] for frame in stack) for stack in profile["samples"])
        in_order = sum(us for us, inside in zip(profile["weights"], within, strict=True) if inside) / stage.time_us
        assert (collapsed, in_order) == pytest.approx((row.share, row.share), rel=0.05)


def test_stages_with_too_few_samples_to_name_a_line_are_exported_too(tmp_path: Path) -> None:
    """60 samples with no line that has most of them, of the stage that takes longest, and 5 of another one."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 3_000).wait(0, 2_600, "wait::DataLoader")
    builder.stage("transform::RandomMask", 0, 2_400).stage("collate::pad", 2_400, 200)
    builder.stacks([40 * (number + 0.5) for number in range(65)], [HOT] * 30 + [WARM] * 30 + [HOT] * 5)
    trace = builder.write(tmp_path / "run.pt.trace.json")
    mask, pad = analyse_file(trace).capture.lines.stages
    assert not mask.lines and not pad.lines and not mask.HasField("tree")
    assert main(["export", str(trace), "--no-cache", "--format", "collapsed", "-o", str(tmp_path / "c")]) == 0
    assert main(["export", str(trace), "--no-cache", "-o", str(tmp_path / "s")]) == 0
    times: dict[str, int] = {}
    for line in (tmp_path / "c").read_text().splitlines():
        times[line.partition(";")[0]] = times.get(line.partition(";")[0], 0) + int(line.rpartition(" ")[2])
    assert times == pytest.approx({mask.name: mask.time_us, pad.name: pad.time_us}, abs=2)
    whole, *stages = json.loads((tmp_path / "s").read_text())["profiles"]
    assert [each["name"].rpartition(": ")[2] for each in stages] == [mask.name, pad.name]
    assert whole["endValue"] == pytest.approx(mask.time_us + pad.time_us)


def test_time_that_no_stack_has_stays_in_its_part(tmp_path: Path) -> None:
    trace = sampled(tmp_path)
    report = as_report([analyse_file(trace).capture])
    (part,) = report.captures[0].lines.stages
    part.time_us += 500.0
    assert as_collapsed(report).splitlines()[-1] == "transform::RandomMask 500"
    profile = json.loads(as_speedscope(report))["profiles"][-1]
    assert profile["weights"][-1] == pytest.approx(500.0, abs=0.1)


def test_without_stacks_one_line_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run().write(tmp_path / "run.pt.trace.json")
    assert main(["export", str(path), "--no-cache"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "lines=True" in error
