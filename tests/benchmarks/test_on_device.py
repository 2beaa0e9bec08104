"""`benchmarks/on_device.py` on a machine without a device, and its parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import on_device
from benchmarks.on_device_checks.captures import anonymous
from benchmarks.on_device_checks.catalogue import Check, Item, Part
from benchmarks.on_device_checks.clocks import Bounds
from benchmarks.on_device_checks.cost import interval
from benchmarks.on_device_checks.rows import at_most, close, row_of, same
from benchmarks.on_device_checks.runner import run_parts
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.truth import Span, gaps, overlap
from tests.support import warm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of the quick form, in a Python that sees no device."""
    out = tmp_path_factory.mktemp("on_device")
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "on_device.py"),
        "--out",
        str(out),
        "--seconds",
        "60",
        "--quick",
    ]
    done = subprocess.run(
        command, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr  # 1: a check is off, as times are on a crowded machine
    text = (out / "table.txt").read_text(encoding="utf-8")
    assert text in done.stdout
    found: dict[str, Any] = json.loads((out / "table.json").read_text(encoding="utf-8"))
    assert found["summary"] in text
    assert sorted(path.name for path in (out / "captures").iterdir()) == found["captures"]
    return found


def test_checks_that_need_a_device_say_why_they_are_not_possible(table: dict[str, Any]) -> None:
    reasons = {row["check"]: row["reason"] for row in table["rows"] if row["verdict"] == "not possible"}
    for check in (
        "planted, host",
        "copies, pinned blocking",
        "clocks, device",
        "pinning, pin_memory",
        "utilisation, NVML",
    ):
        assert reasons[check] == "torch sees no CUDA device"


def test_the_others_run(table: dict[str, Any]) -> None:
    checks = {row["check"].partition(":")[0] for row in table["rows"] if "no CUDA device" not in row["reason"]}
    assert {"planted, transform", "workers, fork"} <= checks
    assert any(check.startswith("cost, no workers") for check in checks)
    off = [row["check"] for row in table["rows"] if row["verdict"] == "off"]
    timed = (": data wait", ": data wait of its stage")
    assert all(check.endswith(timed) or check.startswith(("clocks", "cost")) for check in off)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seconds", "5"], "give 20 to 540"),
        (["--seconds", "5000"], "give 20 to 540"),
        (["--out", __file__], "on_device.py: --out"),
    ],
)
def test_bad_usage_is_status_2_and_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_device.main(["--out", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_missing_package_is_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(on_device.PACKAGES, "no_such_package_at_all", "no-such-package")
    assert on_device.main(["--out", str(tmp_path)]) == 2
    assert "-m pip install no-such-package" in capsys.readouterr().err


def parts(tmp_path: Path, *names: str, seconds: float = 30) -> tuple[list[tuple[str, str, str]], float]:
    setting = Setting(work=tmp_path, captures=tmp_path, device="cpu", quick=True, seconds=60)
    check = Check("check", "tests.benchmarks.crashing", tuple(Part(name, seconds=seconds) for name in names))
    begin = time.monotonic()
    outcome = run_parts("check", [Item(check, part) for part in check.parts], setting, begin + 60)
    return [(row.check, row.verdict, row.reason) for row in outcome.rows], time.monotonic() - begin


def test_a_crash_is_a_row_and_the_next_part_goes_on(tmp_path: Path) -> None:
    rows, _ = parts(tmp_path, "crashes", "raises", "ends")
    assert rows == [
        ("crashes: begins", "ok", ""),
        ("check, crashes", "off", "its process was ended by SIGSEGV"),
        ("raises: begins", "ok", ""),
        ("tests.benchmarks.crashing, raises", "off", "ValueError: no such kernel"),
        ("ends: begins", "ok", ""),
    ]


def test_a_part_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    rows, seconds = parts(tmp_path, "hangs", seconds=5)
    assert rows[1:] == [("check, hangs", "off", "its process was ended after its limit of 5 s")]
    assert seconds < 20


def test_a_budget_that_is_used_up_is_no_fault(tmp_path: Path) -> None:
    setting = Setting(work=tmp_path, captures=tmp_path, device="cpu", quick=True, seconds=60)
    check = Check("check", "tests.benchmarks.crashing", (Part("ends"),))
    outcome = run_parts("check", [Item(check, check.parts[0])], setting, time.monotonic() + 1)
    assert [(row.verdict, row.reason) for row in outcome.rows] == [
        ("not possible", "the time budget was used up (--seconds)")
    ]


def test_a_value_is_off_where_neither_tolerance_nor_a_busy_machine_explains_it() -> None:
    assert close("a", 100.0, 104.0, "ms", 0.05, 1.0).verdict == "ok"
    assert close("a", 0.0, 0.9, "ms", 0.05, 1.0).verdict == "ok"
    assert close("a", 100.0, 110.0, "ms", 0.05, 1.0).verdict == "off"
    assert close("a", 100.0, 110.0, "ms", 0.05, 1.0, blur=20.0).verdict == "not possible"
    assert close("a", 100.0, None, "ms", 0.05, 1.0).verdict == "off"
    assert same("a", 3, 4).verdict == "off"
    assert at_most("a", 1.1, 1.05, "", sure=False).verdict == "ok"
    assert at_most("a", 1.1, 1.05, "").verdict == "off"


def test_a_row_survives_json() -> None:
    row = close("a", 1.5, 2.5, "ms", 0.1, 0.1)
    assert row_of(json.loads(json.dumps(row.to_dict()))) == row


def test_gaps_and_overlaps() -> None:
    free = gaps([Span(4, 6), Span(-1, 1), Span(5, 7), Span(9, 12)], Span(0, 10))
    assert free == [Span(1, 4), Span(7, 9)]
    assert overlap(free, [Span(0, 2), Span(3, 8)]) == 1 + 1 + 1
    assert gaps([], Span(0, 2)) == [Span(0, 2)]


def test_bounds_of_two_clocks() -> None:
    left, right = Bounds(0.0, 10.0, 1), Bounds(70.0, 75.0, 1)
    assert left.apart(right) == right.apart(left) == 60.0
    assert left.most(right) == 75.0
    assert left.apart(Bounds(5.0, 80.0, 1)) == 0.0


def test_the_interval_of_a_median() -> None:
    found = interval([float(value) for value in range(1, 12)])
    assert (found.median, found.low, found.high, found.rounds) == (6.0, 3.0, 10.0, 11)


def test_a_kept_capture_names_no_machine() -> None:
    host = os.uname().nodename
    text = f'{{"host_name": "{host}", "traceName": "{ROOT}/x/.{host}_12.34.json", "home": "{Path.home()}/y"}}'
    named = anonymous(text.encode()).decode()
    assert '"host_name": "host"' in named
    assert ".host_12.34.json" in named
    assert str(ROOT) not in named


def test_checks_of_a_device_run_on_a_simulated_one() -> None:
    """That they come to values; times are left alone, as they depend on what else the machine does."""
    parts = ("planted:item", "copies:pinned non_blocking", "clocks:device", "utilisation:NVML")
    command = [sys.executable, "-m", "tests.benchmarks.simulated_device", *parts]
    done = warm.run(command, cwd=ROOT, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    rows = {(row := row_of(json.loads(line))).check: row for line in done.stdout.splitlines() if line.startswith("{")}
    for check, ours in {
        "planted, item: largest cause": "host",
        "planted, item: a finding names it": "sync_bound",
        "copies, pinned non_blocking: copies": 6,
        "copies, pinned non_blocking: from pinned memory": 6,
        "clocks: kernels before their launch": 0,
    }.items():
        assert (rows[check].ours, rows[check].verdict) == (ours, "ok")
    for check in ("planted, item: device idle", "utilisation: kernels, by CUDA events"):
        assert rows[check].truth is not None
        assert rows[check].ours is not None
