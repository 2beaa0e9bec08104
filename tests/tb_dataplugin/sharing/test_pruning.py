"""A pruned trace gives the same report."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader.kineto import TraceParts, parts_from_json, read_parts, trace_from_json
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.sharing.pruning import prune
from tests.trace_builder import TraceBuilder

GOLDEN = Path(__file__).parents[2] / "golden"
PATH = Path("a.pt.trace.json")
TRACES = sorted(path for path in GOLDEN.glob("[qt]*/*") if path.suffix in (".gz", ".json") and "v100" not in path.name)
"""Quirks and real ones, but for the two of 31 MB, which `benchmarks/prune.py` compares."""


def reports(parts: TraceParts, path: Path = PATH, options: AnalysisOptions | None = None) -> tuple[Capture, Capture]:
    """Of the trace, and of what is left of it."""
    options = options or AnalysisOptions()
    pruned = trace_from_json(b"".join(prune(parts)), path)
    return analyse(parts.trace, options).capture, analyse(pruned, options).capture


def test_the_report_is_the_same_to_the_last_digit() -> None:
    compared = 0
    for path in TRACES:
        try:
            parts = read_parts(path)
            analyse(parts.trace)
        except DataPipelineError:
            continue
        whole, pruned = reports(parts, path)
        assert pruned == whole, path.name
        compared += 1
    assert compared > 40


@pytest.mark.parametrize("steps", ["2..3", "3..3", "2..4"])
def test_the_report_on_some_steps_is_the_same(steps: str) -> None:
    path = GOLDEN / "traces" / "torch1_8_cpu_workers0.pt.trace.json.gz"
    whole, pruned = reports(read_parts(path), path, AnalysisOptions(steps=StepRange.parse(steps)))
    assert pruned == whole


def test_operators_inside_an_operator_go_and_what_reads_values_back_stays() -> None:
    trace = TraceBuilder().step(0, 100).operator(10, 50).operator(12, 5, "aten::add").operator(20, 5, "aten::item")
    text = b"".join(prune(parts_from_json(trace.json(), PATH)))
    assert b"aten::mm" in text
    assert b"aten::item" in text
    assert b"aten::add" not in text


def test_an_operator_stays_where_a_step_begins_between_it_and_the_one_around_it() -> None:
    trace = TraceBuilder().step(0, 40).step(40, 60).operator(10, 50).operator(45, 5, "aten::add")
    assert b"aten::add" in b"".join(prune(parts_from_json(trace.json(), PATH)))


def test_operators_that_are_counted_stay() -> None:
    trace = TraceBuilder().annotated(overhead={"operator_us": 2.0}).step(0, 100).operator(10, 50)
    text = trace.operator(12, 5, "aten::add").json()
    whole, pruned = reports(parts_from_json(text, PATH))
    assert pruned == whole
    assert b"aten::add" in b"".join(prune(parts_from_json(text, PATH)))


def test_frames_of_python_that_are_left_out_are_still_known_to_have_been_there() -> None:
    trace = TraceBuilder().step(0, 100).operator(10, 50).add("python_function", "train.py(5): main", 0, 90)
    whole, pruned = reports(parts_from_json(trace.json(), PATH))
    assert pruned == whole and "with_stack" in str(whole)
    assert b"train.py" not in b"".join(prune(parts_from_json(trace.json(), PATH)))


def test_a_pruned_trace_cannot_be_pruned_further() -> None:
    parts = read_parts(GOLDEN / "traces" / "annotate_workers2.pt.trace.json.gz")
    once = b"".join(prune(parts))
    assert b"".join(prune(parts_from_json(once, PATH))) == once


def test_the_command_writes_one_file_and_never_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, out = GOLDEN / "traces" / "torch2_4_cpu_workers0_stack.pt.trace.json.gz", tmp_path / "out.pt.trace.json.gz"
    assert main(["prune", str(trace), "-o", str(out)]) == 0
    assert out.stat().st_size < trace.stat().st_size / 10
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert main(["prune", str(trace), "-o", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_trace_that_gets_hardly_smaller_is_said_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, out = GOLDEN / "traces" / "torch2_4_cpu_workers0_stack.pt.trace.json.gz", tmp_path / "out.pt.trace.json.gz"
    assert main(["prune", str(trace), "-o", str(out)]) == 0
    assert "hardly anything" not in capsys.readouterr().err
    assert main(["prune", str(out), "-o", str(tmp_path / "again.pt.trace.json.gz")]) == 0
    why = "the trace has hardly anything that its report does without"
    assert f": the copy is as large, since {why}. Keep the trace itself" in capsys.readouterr().err
    tight = tmp_path / "tight.pt.trace.json.gz"
    tight.write_bytes(gzip.compress(gzip.decompress(out.read_bytes()), 9))
    assert main(["prune", str(tight), "-o", str(tmp_path / "loose.pt.trace.json.gz")]) == 0
    assert f": the copy is larger, since {why}" in capsys.readouterr().err
