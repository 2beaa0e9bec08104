from __future__ import annotations

import gzip
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tb_dataplugin.cli import main
from tests.trace_builder import TraceBuilder

GOLDEN = Path(__file__).parents[2] / "golden" / "traces"


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
    said = " ".join(out.split())
    assert "Slower: " in said and "transform::Crop takes" in said and "(one run each: +" in said
    assert max(map(len, out.splitlines())) <= 100


def test_slower_than_allowed_is_status_1_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run(tmp_path, "a_1.1", 500), run(tmp_path, "b_2.1", 1000)
    assert main(["compare", str(before), str(after), "--fail-if-slower", "5%"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "more than the 5.0% allowed" in error
    assert main(["compare", str(after), str(before), "--fail-if-slower", "5%"]) == 0
    assert main(["compare", str(before), str(after), "--fail-if-slower", "200%"]) == 0


def test_a_limit_that_the_captures_cannot_decide_is_status_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = run(tmp_path, "a_1.1", 500), run(tmp_path, "b_2.1", 505, seed=1)
    command = ["compare", str(before), str(after), "--fail-if-slower", "5%"]
    assert main(command) == 4
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "slower by more than 5.0%? Inconclusive. The 95% interval is −" in error
    assert error.endswith(". Exit status 4 (inconclusive); `--inconclusive pass|fail` makes it 0 or 1\n")
    assert main([*command, "--inconclusive", "pass"]) == 0
    assert "Exit status" not in capsys.readouterr().err
    assert main([*command, "--inconclusive", "fail"]) == 1
    assert main([*command[:-1], "90%"]) == 0


def test_what_is_inconclusive_is_asked_with_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = run(tmp_path, "a_1.1", 500)
    assert main(["compare", str(trace), str(trace), "--inconclusive", "fail"]) == 2
    assert "--fail-if-slower" in capsys.readouterr().err


def compare_for_real(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "tb_dataplugin.cli", "compare", "--no-cache", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONUTF8": "1"})
    assert "Traceback" not in done.stderr
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def test_a_real_pair_with_a_plain_reason_is_faster_and_in_reverse_too_slow() -> None:
    """ResNet-50 on a V100, from 0 to 4 DataLoader workers."""
    without, four = (GOLDEN / f"v100_resnet50_workers{workers}.pt.trace.json.gz" for workers in (0, 4))
    status, out, _ = compare_for_real(without, four, "--fail-if-slower", "5%")
    assert status == 0
    expected = (
        "Faster: 175 → 140 ms per step (one run each: −20%, 95% interval −36% to −0.9%); the data wait fell by 98%."
    )
    assert expected in out
    status, out, error = compare_for_real(four, without, "--fail-if-slower", "5%")
    slower = "Slower: 140 → 175 ms per step (one run each: +25%, 95% interval +0.9% to +55%); the data wait rose from"
    assert status == 1 and f"{slower} 1.42 to 69.3 ms." in out
    assert "slower by 25% per step, more than the 5.0% allowed" in error


def test_equal_bytes_are_identical_packed_or_not(tmp_path: Path) -> None:
    packed = GOLDEN / "annotate_workers2.pt.trace.json.gz"
    plain = tmp_path / "elsewhere_1.pt.trace.json"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    status, out, error = compare_for_real(packed, plain, "--fail-if-slower", "0%")
    assert (
        (status, error) == (0, "")
        and "Identical: every compared number is equal" in out
        and "%" not in out.split("Training thread")[0]
    )


def test_other_programs_and_short_captures_are_inconclusive() -> None:
    traces = [GOLDEN / f"{name}.pt.trace.json.gz" for name in ("torch2_4_cpu_workers0", "torch2_13_cpu_workers0")]
    status, out, error = compare_for_real(*traces, "--fail-if-slower", "5%")
    assert status == 4 and "Too short to compare: 5.16 → 5.40 ms per step." in out and error.count("\n") == 1
    status, out, _ = compare_for_real(traces[0], GOLDEN / "mi250_minitoy.pt.trace.json.gz", "--fail-if-slower", "5%")
    assert status == 4 and "Not comparable: different programs" in out
    assert compare_for_real(*traces)[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_stops_early_does_not_turn_too_slow_into_fine() -> None:
    traces = [GOLDEN / f"v100_resnet50_workers{workers}.pt.trace.json.gz" for workers in (4, 0)]
    command = [sys.executable, "-m", "tb_dataplugin.cli", "compare", *map(str, traces), "--fail-if-slower", "5%"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def printed_intervals(text: str) -> list[tuple[int, int]]:
    ends = re.findall(r"([+−]?[\d,.]+)% to ([+−]?[\d,.]+)%", text)
    numbers = [[float(end.replace("−", "-").replace(",", "")) for end in pair] for pair in ends]
    return [(int(low), int(high)) for low, high in numbers]


@pytest.mark.parametrize("names", list(itertools.permutations(("annotate_workers2", "v100_resnet50_workers0"), 2)))
def test_no_interval_is_printed_that_is_wider_than_100_percent_either_way(names: tuple[str, str]) -> None:
    _, out, _ = compare_for_real(*(GOLDEN / f"{name}.pt.trace.json.gz" for name in names))
    assert all(high - low <= 201 for low, high in printed_intervals(out))


def test_folders_hold_repeated_runs_and_json_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        run(tmp_path / "before", f"h_{number}.1", 500, number)
        run(tmp_path / "after", f"h_{number}.1", 510, 10 + number)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["before"]) == len(answer["after"]) == 3
    assert answer["outcome"] == "not_significant" and answer["unit"] == "sample"
    assert answer["stages"][0]["name"] == "transform::Crop"


@pytest.mark.parametrize("limit", ["5", "-1%", "five%", "nan%"])
def test_a_limit_that_is_no_percentage_is_bad_usage(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compare", "a", "b", f"--fail-if-slower={limit}"])
    assert caught.value.code == 2 and "like 5%" in capsys.readouterr().err


def test_unreadable_input_and_no_traces_are_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = run(tmp_path / "good", "a_1.1", 500)
    assert main(["compare", str(good), str(tmp_path / "none.json")]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(good), str(tmp_path / "empty")]) == 2
    assert "no traces" in capsys.readouterr().err
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.pt.trace.json").write_text("{")
    assert main(["compare", str(good), str(tmp_path / "bad")]) == 2
    assert "none of its traces can be read" in capsys.readouterr().err


def test_one_unreadable_trace_of_several_costs_the_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run(tmp_path / "good", "a_1.1", 500)
    (tmp_path / "good" / "b_2.1.pt.trace.json").write_text("{")
    assert main(["compare", str(tmp_path / "good"), str(good), "--fail-if-slower", "5%"]) == 2
    captured = capsys.readouterr()
    assert "Identical" in captured.out and captured.err.count("\n") == 1


def test_an_internal_error_is_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run(tmp_path, "a_1.1", 500)
    monkeypatch.setattr("tb_dataplugin.cli.compare.compare", lambda *_: 1 // 0)
    assert main(["compare", str(good), str(good), "--fail-if-slower", "5%"]) == 3
    assert "internal error" in capsys.readouterr().err
