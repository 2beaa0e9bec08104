"""The first minute: what `make demo` leaves to look at."""

from __future__ import annotations

import sys
from pathlib import Path

import tb_dataplugin
from tb_dataplugin.reader.discovery import find_traces
from tests.support import warm

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


def test_the_demo_leaves_captures_with_workers_idle_gaps_and_files_to_look_at(tmp_path: Path) -> None:
    few = ("--photos", "40", "--batch-size", "4", "--steps", "6", "--batches", "2")
    command = (sys.executable, DEMO, "--logdir", tmp_path, *few)
    done = warm.run(command)
    assert done.returncode == 0, done.stderr
    train, gpu = tb_dataplugin.read_report(tmp_path / "demo-train")[0], tb_dataplugin.read_report(tmp_path / "gpu")
    assert len(train.workers) == 2
    assert train.slow_samples[0].files[0].endswith(".jpg")
    assert all(capture.devices[0].gaps for capture in gpu)
    assert "BSD 3-Clause" in (tmp_path / "gpu" / "LICENSE.kineto").read_text()
    assert len(tb_dataplugin.read_report(tmp_path / "demo-replay")) == 1
    traces = sorted(find_traces(tmp_path), key=lambda trace: trace.taken_ns)
    assert [trace.run for trace in traces] == ["gpu", "gpu", "gpu", "demo-replay", "demo-train"]
