"""How counterfactual runs are judged, on gains and reports that are made up."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.counterfactual_pipelines import PIPELINES, of_dlio
from benchmarks.counterfactual_pipelines.judging import Judged, Pairs, judge, markdown
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed
from benchmarks.counterfactual_pipelines.of_dlio import npz
from benchmarks.counterfactual_pipelines.running import Settings, settings_of
from benchmarks.counterfactual_pipelines.starting import runnable
from benchmarks.counterfactual_pipelines.stored_kit import read_whole
from benchmarks.prediction import batches, changes_of


def never(_: Removed) -> Loop:
    raise AssertionError


def judged(
    gains: dict[str, float], waits: dict[str, float], said: str, *, noise: float = 0.1, bounds: dict[str, float]
) -> Judged:
    """Steps of 20 ms; `gains` by part, each with the same noise around it, `waits` per step."""
    wobble = [-noise, 0.0, noise, 0.0]
    times = {"": [20.0] * 4} | {
        part: [20.0 - gain + (place % 2 * 2 - 1) * off for off in wobble]
        for place, (part, gain) in enumerate(gains.items())
    }
    report: dict[str, Any] = {
        "steps": {"count": 10},
        "loader": {"wait_by_stage_us": {stage: wait * 1e4 for stage, wait in waits.items()}},
        "verdict": {"bound": "cpu", "sentence": f"It waits, most of it for {said} (60.0% of the data wait)."},
        "findings": [{"stage": stage, "gain_us_per_step": bound * 1e3} for stage, bound in bounds.items()],
    }
    return judge(Pipeline("made_up", "tune", tuple(gains), never), {"times_ms": times, "report": report})


def test_the_same_order_is_a_tau_of_one() -> None:
    found = judged(
        {"transform::A": 9.0, "transform::B": 4.0, "transfer": 1.0},
        {"transform::A": 6.0, "transform::B": 3.0, "transfer::queue": 0.2, "transfer::serialise": 0.2},
        "transform::A",
        bounds={"transform::A": 10.0},
    )
    assert found.pairs == Pairs(same=3)
    assert found.pairs.tau_b == 1
    assert found.names_best and found.strictly_best and found.agree
    assert found.bounds == {"transform::A": (10.0, False)}


def test_gains_within_the_noise_tie_and_a_wait_that_differs_by_more_counts_against_the_rule() -> None:
    found = judged(
        {"transform::A": 5.0, "transform::B": 5.2, "transform::C": 1.0},
        {"transform::A": 6.0, "transform::B": 2.0, "transform::C": 0.1},
        "transform::A",
        noise=0.5,
        bounds={},
    )
    assert found.pairs == Pairs(same=2, tied_gain=1)
    assert found.pairs.tau_b == pytest.approx(2 / (2 * 3) ** 0.5)
    assert found.names_best


def test_naming_the_wrong_stage_and_a_bound_that_is_too_low_are_seen() -> None:
    found = judged(
        {"transform::A": 9.0, "transfer": 1.0},
        {"transform::A": 2.0, "transfer": 7.0},
        "transfer",
        bounds={"transform::A": 5.0, "transfer::queue": 2.0},
    )
    assert found.pairs == Pairs(other=1)
    assert found.pairs.tau_b == -1
    assert found.names_best is False and not found.agree
    assert found.bounds == {"transform::A": (5.0, True), "transfer": (2.0, False)}
    assert "reversed" in markdown([found])


@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
def test_every_pipeline_of_this_python_can_be_built_without_each_of_its_parts(thorough: bool) -> None:
    for number, pipeline in enumerate(PIPELINES.values()):
        parts = ("", *pipeline.parts) if thorough or number % 6 == 0 else ()
        for part in parts if pipeline.python == Path(sys.executable) else ():
            assert pipeline.build(frozenset({part})).step_ms > 0
    groups = {pipeline.group for pipeline in PIPELINES.values()}
    assert groups == {"tune", "judge", "third", "fourth", "fifth", "sixth", "seventh"}


def test_only_pipelines_of_dlio_need_another_python() -> None:
    others = {name for name, pipeline in PIPELINES.items() if pipeline.python != Path(sys.executable)}
    assert others == {pipeline.name for pipeline in of_dlio.PIPELINES}
    assert all(name.startswith("dlio_") for name in others)


def test_pipelines_whose_python_does_not_exist_are_left_out_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = Pipeline("absent_1", "seventh", (), never, python=tmp_path / "python")
    monkeypatch.setitem(PIPELINES, "absent_1", absent)
    assert runnable(["disk_1", "absent_1"]) == ["disk_1"]
    assert capsys.readouterr().err == f"left out: absent_1. `make .venv-dlio/.installed` makes {tmp_path / 'python'}\n"
    assert runnable(["disk_1"]) == ["disk_1"]
    assert capsys.readouterr().err == ""


def test_what_is_changed_follows_from_the_parts_and_the_settings() -> None:
    settings = settings_of(PIPELINES["cold_clips_2"])
    assert settings == Settings(workers=2, prefetch=2, batch=6)
    assert list(changes_of(("read::frame", "transform::CropClip"), settings)) == [
        "read::frame",
        "transform::CropClip",
        "transform::CropClip=0.5x",
        *("workers=0", "workers=1", "workers=3"),
        *("prefetch=1", "prefetch=6"),
        "in_order=off",
    ]
    assert list(batches(settings)) == ["batch=3", "batch=3+step", "batch=12", "batch=12+step"]


def test_files_of_dlio_are_as_its_generator_writes_them() -> None:
    records = np.load(io.BytesIO(npz(0, 5, 7, samples=3)))
    assert records["x"].shape == (5, 7, 3)
    assert records["x"].dtype == np.uint8
    assert records["y"].tolist() == [0, 0, 0]


def test_what_was_dropped_from_the_page_cache_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"some bytes")
    assert [read_whole(path) for _ in range(2)] == [b"some bytes"] * 2
