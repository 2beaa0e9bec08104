"""An iterator around the loader has a row of its own in the stage table, though its own code has no spans."""

from __future__ import annotations

import pytest

from annotate.trace_format import Stage
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder


def mixing() -> TraceBuilder:
    """`prof.steps(mixup(loader))`: in each wait of 800 us the loader's own takes 100."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}])
    for number in range(4):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 800, "wait::mixup").wait(start + 10, 100)
        builder.stage("sample::Pets", start + 20, 80)
    return builder


def test_its_row_stands_below_its_wait_and_has_the_verdicts_share() -> None:
    capture = capture_of(mixing())
    rows = {f"{stage.kind}::{stage.label}": stage for stage in capture.stages}
    row = rows["wrapper::mixup"]
    assert (row.count, row.total_us, row.self_us, row.parent) == (4, 3200, 2800, "wait::mixup")
    assert row.blame_us == capture.loader.wait_by_stage_us["wrapper::mixup"] == 2800
    assert rows["wait::mixup"].self_us == 80  # of the loader's own waits, outside the dataset
    assert [stage.kind for stage in capture.stages][:2] == ["wait", "wrapper"]
    assert "wrapper::mixup (87.5% of the data wait)" in capture.verdict.sentence


def test_a_loader_alone_has_no_such_row() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}]).step(0, 1000)
    builder.wait(0, 800, "wait::DataLoader").wait(10, 700).stage("sample::Pets", 20, 600)
    assert not [stage for stage in capture_of(builder).stages if stage.kind == "wrapper"]


def test_its_lines_are_those_below_the_recorders_frames_in_its_own_time() -> None:
    main = ("<module>", "/home/me/train.py", 90)
    steps = ("Steps.__iter__", "/annotate/capture/steps.py", 60)
    mixup, blend = ("mixup", "/home/me/train.py", 20), ("blend", "/home/me/train.py", 12)
    times = [1000.0 * step + 6 * number + 120 for step in range(4) for number in range(100)]
    stack = [(main, steps, mixup, blend)] * 300 + [(main, steps, mixup)] * 100
    results = results_of(mixing().stacks(times, stack))
    assert results.lines is not None
    part = results.lines.stages[Stage("wrapper", "mixup")]
    assert [row.place.short for row in part.rows] == ["train.py:12", "train.py:20"]
    assert part.rows[0].share > 0.7
    assert sum(row.waited_share or 0.0 for row in part.rows) == pytest.approx(1.0)
    assert {stage.name for stage in results.lines.stages} == {"wrapper::mixup"}
