from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.whatif_text import _fit_inside
from tb_dataplugin.export.width import WIDEST
from tests.simulated_run import Simulation
from tests.trace_builder import TraceBuilder


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Simulation(steps=24).file(np.random.default_rng(1)).write(tmp_path / "run.pt.trace.json")


def test_every_number_of_workers_has_a_prediction(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--workers", "0..2", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema_version"] == 1
    assert answer["settings"] == {"workers": 2, "prefetch": 2, "in_order": True}
    assert [made["change"]["workers"] for made in answer["predictions"]] == [0, 1, 2]
    for made in answer["predictions"]:
        for name in ("step_us", "samples_per_s", "data_wait_share"):
            assert made[name]["low"] <= made[name]["value"] <= made[name]["high"]
        assert made["limited_by"]


def test_json_has_the_words_of_the_text(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main(["whatif", str(capture)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (answer["sentence"], answer["basis_text"], *answer["limit_texts"]):
        assert " ".join(words.split()) in shown
    assert [made["name"] for made in answer["predictions"]][:2] == ["workers=0", "workers=1"]


def test_without_a_change_the_usual_ones_are_shown(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture)]) == 0
    shown = capsys.readouterr().out
    for words in ("In its steady state:", "workers=1", "transform::Blur=0.5x", "90% interval", "nothing was run"):
        assert words in shown
    assert "would be the next stage to make faster" in shown or " limits." in shown
    assert max(map(len, shown.splitlines())) <= WIDEST


def test_with_a_device_its_idle_time_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(8):
        start = 1000.0 * number
        builder.step(start, 1000).wait(start, 800, "wait::DataLoader").stage("sample::Pets", start, 800)
        builder.kernel(start + 850, 100)
    trace = str(builder.write(tmp_path / "run.pt.trace.json"))
    assert main(["whatif", trace]) == 0
    shown = capsys.readouterr().out
    assert "device idle" in shown and max(map(len, shown.splitlines())) <= WIDEST
    assert main(["whatif", trace, "--stage", "sample=0x", "--format", "json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    assert 0 < made["device_idle_share"]["value"] < 0.9


def test_a_stage_without_its_kind_is_guessed(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(capture), "--stage", "blur=0.1x"]) == 2
    assert "the capture has no stage blur; did you mean transform::Blur?" in capsys.readouterr().err


def test_cached_kinds_and_stages_are_one_change(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cache", "decode", "--stage", "transform::Blur=0.1x", "--in-order", "off", "--prefetch", "4"]
    assert main(["whatif", str(capture), *arguments, "--format", "json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    assert made["change"] == {"prefetch": 4, "in_order": False, "stages": {"transform::Blur": 0.1, "decode": 0.0}}


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--stage", "transform::Foo=0.1x"], 2, "no stage transform::Foo; it has"),
        (["--stage", "transform::Blur"], 2, "write it like"),
        (["--workers", "many"], 2, "write 4, 0..8 or 2,4,8"),
        (["--workers", "999"], 2, "choose 0 to 64"),
    ],
)
def test_a_change_that_is_not_one_is_one_line(
    capture: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    try:
        assert main(["whatif", str(capture), *arguments]) == status
    except SystemExit as ended:
        assert ended.code == status
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


def test_a_capture_that_says_too_little_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TraceBuilder().step(0, 100).write(tmp_path / "run.pt.trace.json")
    assert main(["whatif", str(path)]) == 1
    assert "Nothing can be predicted from this capture" in capsys.readouterr().err


def test_a_long_change_is_cut_before_its_factor() -> None:
    assert _fit_inside("collate::default_collate_of_ours=0.5x", 26) == "collate::default_c...=0.5x"
    assert _fit_inside("workers=4 *", 26) == "workers=4 *"
