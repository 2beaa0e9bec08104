"""Traces of the installed torch, by each of its writers and with each of its options, come through the reader."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

from tb_dataplugin.pipeline import analyse_file

HAS_PYTHON_WRITER = "use_python_export" in inspect.signature(profile.export_chrome_trace).parameters

ONLY_WITH_IT = pytest.mark.skipif(not HAS_PYTHON_WRITER, reason="this torch has one writer only")


def recorded(path: Path, export: dict[str, Any], **options: Any) -> Path:
    loader = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=8)
    model = torch.nn.Linear(8, 8)

    def write(prof: profile) -> None:
        prof.export_chrome_trace(str(path), **export)

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=write,
        acc_events=True,
        **options,
    ) as prof:
        for (batch,) in loader:
            model(batch).sum().backward()
            prof.step()
    return path


@pytest.mark.parametrize(
    "options", [{}, {"with_stack": True}, {"profile_memory": True, "record_shapes": True}], ids=str
)
@pytest.mark.parametrize(
    "export", [{}, pytest.param({"use_python_export": True}, marks=ONLY_WITH_IT)], ids=["kineto", "python"]
)
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_steps_and_waits_of_every_writer(
    tmp_path: Path, export: dict[str, Any], options: dict[str, Any], suffix: str
) -> None:
    capture = analyse_file(recorded(tmp_path / f"trace{suffix}", export, **options)).capture
    assert capture.steps.count == 3
    assert capture.loader.wait_count == 3
    assert 0 < capture.loader.wait_us < capture.window_us
    assert [one.message for one in capture.diagnostics if one.topic == "file"] == []
