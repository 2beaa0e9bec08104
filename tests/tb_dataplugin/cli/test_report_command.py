from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.pipeline import AnalysedCapture, analyse_file
from tests.conftest import GOLDEN
from tests.trace_builder import training_run


def test_a_folder_is_reported_capture_by_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("b", "a"):
        training_run().write(tmp_path / name / "host_1.pt.trace.json.gz")
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    names = [capture["name"] for capture in json.loads(capsys.readouterr().out)["captures"]]
    assert names == ["a/host_1", "b/host_1"]


def test_the_text_report_is_the_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run().write(tmp_path / "run.json")
    assert main(["report", str(path)]) == 0
    assert "The device is idle for 50.0% of the window" in capsys.readouterr().out


def test_what_recording_cost_has_no_line_of_zeros(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overhead = {"marker_us": 0.0, "marker_count": 0, "worker_span_us": 985.0, "worker_span_count": 816}
    path = training_run().annotated(overhead=overhead).write(tmp_path / "run.json")
    assert main(["report", str(path)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "recording cost" in line]
    assert len(lines) == 1 and "816 spans in DataLoader workers" in lines[0] and "marker" not in lines[0]


def test_output_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run().write(tmp_path / "run.json")
    assert main(["report", str(path), "--format", "json", "-o", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["schema_version"] == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "begins"), [("a.json", "{"), ("a.HTML", "<!"), ("a.md", "#"), ("a.txt", "test_")])
def test_the_ending_of_the_file_is_the_format(
    tmp_path: Path, name: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / name
    assert main(["report", str(training_run().write(tmp_path / "run.json")), "-o", str(output)]) == 0
    assert output.read_text().lstrip().startswith(begins)
    assert "will be text" not in capsys.readouterr().err


def test_a_format_that_was_asked_for_is_the_format_whatever_the_ending(tmp_path: Path) -> None:
    output = tmp_path / "a.html"
    assert (
        main(["report", str(training_run().write(tmp_path / "run.json")), "--format", "json", "-o", str(output)]) == 0
    )
    assert output.read_text().startswith("{")


def test_an_ending_that_a_command_has_no_format_for_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, output = str(training_run().write(tmp_path / "run.json")), str(tmp_path / "a.html")
    assert main(["compare", runs, runs, "-o", output, "--no-cache"]) in (0, 2)
    said = f"{output} will be text: `compare` writes no html (--format json or markdown)"
    assert said in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run().write(tmp_path / "run.json")
    assert main(["report", str(path), "-o", str(tmp_path / "none" / "out.txt")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_to_report_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(tmp_path) in error


def test_a_bad_file_costs_the_status_but_not_the_good_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.pt.trace.json").write_text("{")
    training_run().write(tmp_path / "good.pt.trace.json")
    assert main(["report", str(tmp_path), "--format", "json"]) == 2
    out, error = capsys.readouterr()
    assert [capture["name"] for capture in json.loads(out)["captures"]] == ["good"]
    assert "bad.pt.trace.json" in error and error.count("\n") == 1


def test_a_missing_file_is_unreadable_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none.json")]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_a_fault_of_our_own_is_one_line_and_costs_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "good"):
        training_run().write(tmp_path / f"{name}.pt.trace.json")

    def analyse(path: Path, *arguments: Any) -> AnalysedCapture:
        if "good" not in path.name:
            raise ZeroDivisionError("integer division or modulo by zero")
        return analyse_file(path, *arguments)

    monkeypatch.setattr("tb_dataplugin.pipeline.analyse_file", analyse)
    assert main(["report", str(tmp_path), "--no-cache", "--format", "json"]) == 3
    out, error = capsys.readouterr()
    assert [capture["name"] for capture in json.loads(out)["captures"]] == ["good"]
    assert "cannot analyse" in error and "ZeroDivisionError" in error and "internal error of tb-dataplugin" in error
    assert error.count("\n") == 1


def test_what_the_system_refuses_is_no_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "x" * 300]) == 2
    assert main(["compare", "x" * 300, "y"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 2 and "fault" not in error


@pytest.mark.parametrize("arguments", [[], ["report"], ["dance"], ["report", "x", "--format", "pdf"]])
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_numbers_of_some_steps_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run(6).write(tmp_path / "run.json")
    assert main(["report", str(path), "--steps", "2..4"]) == 0
    out = capsys.readouterr().out
    assert "Steps 2 to 4 only: 3 of 6 recorded steps, 300 µs of the 600 µs window." in out
    assert "3 steps, 100 µs each on average" in out


@pytest.mark.parametrize("steps", ["4..2", "x", "2-4", ""])
def test_a_bad_range_of_steps_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], steps: str) -> None:
    path = training_run(6).write(tmp_path / "run.json")
    assert main(["report", str(path), "--steps", steps]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "--steps" in error and "; write " in error


def test_a_capture_without_those_steps_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training_run(6).write(tmp_path / "long.pt.trace.json")
    training_run(2).write(tmp_path / "short.pt.trace.json")
    assert main(["report", str(tmp_path), "--steps", "3..4", "--format", "json"]) == 2
    captured = capsys.readouterr()
    assert [capture["name"] for capture in json.loads(captured.out)["captures"]] == ["long"]
    assert captured.err.count("\n") == 1 and "short" in captured.err and "it has steps 1..2" in captured.err


def test_a_pattern_that_names_what_run_left_beside_a_trace_names_the_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [training_run().write(tmp_path / f"{name}.pt.trace.json.gz") for name in ("vm_1", "vm_2")]
    (tmp_path / "vm_1.epochs.json").write_text("{}")
    assert main(["report", *sorted(map(str, tmp_path.iterdir())), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["captures"]) == len(paths)
    assert main(["compare", *sorted(map(str, tmp_path.iterdir()))]) == 0
    assert "before 1 run" in capsys.readouterr().out


def test_a_page_of_several_folders_of_repeated_runs_compares_these(tmp_path: Path) -> None:
    for number, (side, trace) in enumerate((("before", "workers0"), ("after", "workers4")) * 2):
        path = tmp_path / side / f"r{number}" / "x.pt.trace.json.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes((GOLDEN / f"v100_resnet50_{trace}.pt.trace.json.gz").read_bytes())
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    output = tmp_path / "page.html"
    folders = [str(tmp_path / side) for side in ("after", "before")]
    assert main(["report", *folders, "--no-cache", "-o", str(output)]) == 0
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', output.read_text(), re.DOTALL)
    page = json.loads(data)
    sides = {one["folder"]: one["ids"] for one in page["repeated_runs"]}
    assert {folder: len(ids) for folder, ids in sides.items()} == {"after": 2, "before": 2}
    first = page["comparisons"][0]
    assert (first["before"], first["after"]) == (sides["before"], sides["after"])
