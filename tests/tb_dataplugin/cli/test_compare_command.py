from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tb_dataplugin.cli import main
from tests.trace_builder import TraceBuilder


def run(folder: Path, name: str, wait_us: float, seed: int = 0) -> Path:
    """A run of 40 steps with one stage, which takes `wait_us`, without DataLoader workers."""
    rng = np.random.default_rng(seed)
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 0}])
    now = 0.0
    for _ in range(40):
        took = wait_us * rng.lognormal(0, 0.02)
        builder.step(now, took + 50).wait(now, took, "wait::DataLoader").stage("sample::Pets", now + 1, took - 2)
        builder.stage("transform::Crop", now + 2, took - 4)
        now += took + 50
    return builder.write(folder / f"{name}.pt.trace.json.gz")


def test_a_slower_run_is_named_with_its_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run(tmp_path, "a_1.1", 500), run(tmp_path, "b_2.1", 1000)
    assert main(["compare", str(before), str(after)]) == 0
    out = capsys.readouterr().out
    assert "Slower by 9" in out and "because transform::Crop takes" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100


def test_slower_than_allowed_is_status_1_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run(tmp_path, "a_1.1", 500), run(tmp_path, "b_2.1", 1000)
    assert main(["compare", str(before), str(after), "--fail-if-slower", "5%"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "more than the 5.0% allowed" in error
    assert main(["compare", str(after), str(before), "--fail-if-slower", "5%"]) == 0
    assert main(["compare", str(before), str(after), "--fail-if-slower", "200%"]) == 0


def test_captures_that_cannot_judge_the_limit_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run(tmp_path, "a_1.1", 500), run(tmp_path, "b_2.1", 505, seed=1)
    assert main(["compare", str(before), str(after), "--fail-if-slower", "5%"]) == 0
    assert "could pass unnoticed" in capsys.readouterr().err


def test_folders_hold_repeated_runs_and_json_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        run(tmp_path / "before", f"h_{number}.1", 500, number)
        run(tmp_path / "after", f"h_{number}.1", 510, 10 + number)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["before"]) == len(told["after"]) == 3
    assert told["outcome"] == "not_significant" and told["unit"] == "sample"
    assert told["stages"][0]["stage"] == "transform::Crop"


@pytest.mark.parametrize("limit", ["5", "-1%", "five%", "nan%"])
def test_a_limit_that_is_no_percentage_is_bad_usage(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compare", "a", "b", f"--fail-if-slower={limit}"])
    assert caught.value.code == 2 and "like 5%" in capsys.readouterr().err


def test_unreadable_input_is_status_2_and_an_empty_folder_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = run(tmp_path / "good", "a_1.1", 500)
    assert main(["compare", str(good), str(tmp_path / "none.json")]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(good), str(tmp_path / "empty")]) == 1
    assert "Traceback" not in capsys.readouterr().err
