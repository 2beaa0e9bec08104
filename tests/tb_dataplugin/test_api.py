"""`tb_dataplugin.read_report`: the report as a Python object, and what it costs to import the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tb_dataplugin
from tb_dataplugin.errors import NothingToReport, UnreadableTrace
from tb_dataplugin.pipeline import analyse_file
from tests.simulated_run import Simulation
from tests.trace_builder import TraceBuilder

NAME = "torch2_13_cpu_workers0.pt.trace.json.gz"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", "off")


def test_a_report_is_the_captures_that_the_command_line_reports(golden: Path) -> None:
    report = tb_dataplugin.read_report(golden / NAME)
    (capture,) = report
    assert len(report) == 1 and report[0] == capture
    assert capture == analyse_file(golden / NAME).capture
    assert report.to_dict()["captures"][0]["loader"]["wait_us"] == capture.loader.wait_us
    assert capture.verdict.sentence.split()[0] in str(report)


def test_folders_and_several_paths_are_reported_together(golden: Path, tmp_path: Path) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / NAME).write_bytes((golden / NAME).read_bytes())
    names = [capture.name for capture in tb_dataplugin.read_report(str(tmp_path))]
    assert names == ["a/torch2_13_cpu_workers0", "b/torch2_13_cpu_workers0"]
    assert len(tb_dataplugin.read_report([tmp_path / "a", tmp_path / "b"])) == 2
    assert len(tb_dataplugin.read_report(str(tmp_path / "a"), tmp_path / "b")) == 2


def test_a_notebook_shows_the_page_in_a_frame(golden: Path) -> None:
    shown = tb_dataplugin.read_report(golden / NAME)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts ') and shown.count('"') == 6
    assert "allow-same-origin" not in shown


def test_a_console_shows_the_text(golden: Path) -> None:
    report = tb_dataplugin.read_report(golden / NAME)
    shown = report._repr_mimebundle_()
    assert (shown["text/plain"], shown["text/html"]) == (str(report), report._repr_html_())


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(NothingToReport, match="no traces"):
        tb_dataplugin.read_report(tmp_path)
    with pytest.raises(UnreadableTrace, match="missing"):
        tb_dataplugin.read_report(tmp_path / "missing.json")


def test_importing_the_package_loads_nothing_else() -> None:
    heavy = ("numpy", "google.protobuf", "torch", "tensorboard")
    code = f"import sys, tb_dataplugin; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'reports'"):
        _ = tb_dataplugin.reports


def test_a_change_is_predicted_from_a_file(tmp_path: Path) -> None:
    path = Simulation(steps=24).file(np.random.default_rng(1)).write(tmp_path / "run.pt.trace.json")
    made = tb_dataplugin.what_if(path, workers=1, stages={"transform::Blur": 0.5})
    assert made.change.text == "workers=1, transform::Blur=0.5x"
    assert made.step_us.low <= made.step_us.value <= made.step_us.high
    assert tb_dataplugin.what_if(tmp_path, workers=1, stages={"transform::Blur": 0.5}) == made  # the newest in it
    TraceBuilder().annotated("replay").stage("sample::Pets", 0, 100).write(tmp_path / "replay.pt.trace.json")
    assert tb_dataplugin.what_if(tmp_path, workers=1, stages={"transform::Blur": 0.5}) == made
