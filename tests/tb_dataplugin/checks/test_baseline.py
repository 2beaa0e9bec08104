from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.checks.baseline import MOST_RUNS, read_baseline, write_baseline
from tb_dataplugin.compare import compare
from tb_dataplugin.errors import BadRequest, UnreadableTrace
from tb_dataplugin.pipeline import open_capture
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 0}])
    for step in range(12):
        builder.step(step * 100, 90).wait(step * 100, 50 + step % 3, "wait::DataLoader")
        builder.stage("transform::Crop", step * 100 + 1, 40 + step % 3)
    return open_capture(builder.write(tmp_path / "host_1.2.pt.trace.json.gz")).capture


def test_a_baseline_compares_as_the_capture_it_was_made_of(tmp_path: Path, capture: Capture) -> None:
    write_baseline(tmp_path / "ci" / "b.json", [capture])
    stored = read_baseline(tmp_path / "ci" / "b.json")
    assert compare(stored, [capture]).outcome == compare([capture], [capture]).outcome == "identical"


def test_runs_are_added_and_told_apart_whatever_their_process_ids(tmp_path: Path, capture: Capture) -> None:
    path = tmp_path / "b.json"
    runs = [write_baseline(path, [capture], read_baseline(path) if path.exists() else []) for _ in range(MOST_RUNS + 1)]
    assert runs[:3] == [1, 2, 3] and runs[-1] == MOST_RUNS
    assert len(compare(read_baseline(path), [capture]).before) == MOST_RUNS


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"captures": 3}', "[" * 9999, '{"schema_version": 1, "captures": [{}]}']
)
def test_what_is_no_baseline_is_one_line_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(UnreadableTrace, match="--data-pipeline-update"):
        read_baseline(path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capture: Capture) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadRequest, match="cannot write"):
        write_baseline(tmp_path / "file" / "b.json", [capture])
