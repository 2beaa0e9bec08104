"""A file whose end is missing: what it says is what the whole one says, or it says that it does not know."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture
from tests.conftest import GOLDEN

WITH_DEVICES = ("h100_pinned_workers1", "mi250_minitoy", "sampled_rank0", "alexnet_no_steps", "v100_resnet50_workers0")
PARTS = (0.55, 0.7, 0.85, 0.95, 0.999)


def cut(name: str, part: float, folder: Path) -> Capture:
    json = gzip.decompress((GOLDEN / f"{name}.pt.trace.json.gz").read_bytes())
    path = folder / "cut.pt.trace.json"
    path.write_bytes(json[: int(len(json) * part)])
    return analyse_file(path).capture


@pytest.mark.parametrize("name", WITH_DEVICES)
def test_devices_are_known_whole_or_not_at_all(name: str, tmp_path: Path) -> None:
    """Kernels that one thread launched stand below all of another's: where the end is missing, kernels are missing
    anywhere in the window.
    """
    whole = analyse_file(GOLDEN / f"{name}.pt.trace.json.gz").capture
    unknown = 0
    for part in PARTS:
        capture = cut(name, part, tmp_path)
        if capture.steps.count == whole.steps.count:
            assert capture.window_us == pytest.approx(whole.window_us, rel=1e-4)
            assert capture.loader.wait_us == whole.loader.wait_us
        assert [device.idle_us for device in capture.devices] in ([], [device.idle_us for device in whole.devices])
        if not capture.devices:
            unknown += 1
            assert "cut_off" in {doubt.code for doubt in capture.doubts}
            assert not any("device" in finding.title for finding in capture.findings)
    assert unknown


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    capture = cut("v100_resnet50_workers0", 0.8, tmp_path)
    [doubt] = [doubt for doubt in capture.doubts if doubt.code == "cut_off"]
    assert "part of the device activity is missing, so none is shown" in doubt.sentence
    assert "device idle time, its causes and the exposed data wait are unknown" in " ".join(
        note.message for note in capture.diagnostics
    )
    assert "before the training thread's records" not in " ".join(
        note.message for note in cut("sampled_rank0", 0.8, tmp_path).diagnostics
    )
