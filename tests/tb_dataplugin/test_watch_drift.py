"""Step time over a whole run: what rises or falls, and what was slow for a while without an event."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.report.report_pb2 import WholeRun
from tb_dataplugin.watchfile.drift import has_trend
from tb_dataplugin.watchfile.reading import Run, read_part, runs_of
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event

STEPS = 100
NOISE = (0.97, 1.02, 1.0, 1.03, 0.98, 1.01)


def run_of(tmp_path: Path, times_ms: Sequence[float], *more: object, workers: int = 0, stall_ms: float = 0) -> Run:
    """Intervals of 10 s with 100 steps that take so long; of each, 1 ms is no data wait. `stall_ms`: one step of the
    sixth interval takes longer by that.
    """
    lines = [RUN, {"kind": "loader", "loader": 0, "dataset": "Mined", "num_workers": workers}]
    for number, each in enumerate(times_ms):
        stall = stall_ms if number == 5 else 0
        numbers: dict[str, Any] = {
            "loader": 0, "steps": STEPS, "samples": 800, "step_us": 1e3 * (STEPS * each + stall),
            "wait_us": 1e3 * (STEPS * (each - 1) + stall), "longest_step_us": 1e3 * (each + stall), "measured": 2,
            "stage_us": {"sample::Mined": 2e3 * max(1, workers) * (each - 2), "collate::own": 2e3},
        }  # fmt: skip
        at = BEGIN + 10 * number
        lines.append({"kind": "interval", "from": at, "to": at + 10, "loaders": [numbers]})
    path = tmp_path / "a.watch.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (*lines, *more)))
    (run,) = runs_of([read_part(path)])
    return run


def report_of(run: Run) -> WholeRun:
    report = whole_run_report(run, "exp1")
    assert report is not None
    return report


def noisy(times_ms: Sequence[float]) -> list[float]:
    return [each * NOISE[number % len(NOISE)] for number, each in enumerate(times_ms)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_steady_rise_is_said_from_what_to_what_and_with_its_stage(tmp_path: Path, workers: int) -> None:
    run = run_of(tmp_path, [7, 9, 10, 12, 13, 15, 17, 17.5], workers=workers)
    report = report_of(run)
    (drift,) = report.drifts
    assert (drift.before_us, drift.after_us, drift.stage) == (8_000, 17_250, "sample::Mined")
    assert drift.text.startswith("step time rises from 8.00 ms to 17.3 ms (data wait from 7.00 ms to 16.3 ms, ")
    assert drift.text in report.sentence
    assert "step time rises       from 8.00 ms to 17.3 ms" in runs_text([run])
    assert not report.marks


def test_a_fall_is_said_as_well(tmp_path: Path) -> None:
    (drift,) = report_of(run_of(tmp_path, noisy([20 - number / 2 for number in range(20)]))).drifts
    assert drift.text.startswith("step time falls from 19.1 ms to 11.")


@pytest.mark.parametrize(
    "times_ms",
    [
        [10, 14, 9, 15, 11, 13, 10, 15],
        [10] * 8,
        [10, 11, 12, 13],
        noisy([10] * 10 + [14] * 10),
        noisy([10] * 18 + [30] * 2),
        noisy([10 + number / 50 for number in range(20)]),
    ],
    ids=["scatter", "constant", "too few to know", "a jump", "a slow end", "next to nothing"],
)
def test_what_does_not_rise_steadily_is_no_drift(tmp_path: Path, times_ms: list[float]) -> None:
    assert not report_of(run_of(tmp_path, times_ms)).drifts


def test_chance_makes_a_trend_once_in_a_hundred_runs() -> None:
    source = random.Random(0)
    for count in (6, 12, 50):
        found = sum(has_trend([source.random() for _ in range(count)]) for _ in range(1000))
        assert found <= 20
    assert has_trend(range(6)) and not has_trend(range(5))


def test_slow_intervals_without_an_event_are_one_slow_time(tmp_path: Path) -> None:
    run = run_of(tmp_path, noisy([16] * 8 + [48] * 3 + [16] * 9), stall_ms=3000)
    report = report_of(run)
    (mark,) = report.marks
    assert (mark.at_s, mark.change, mark.by_intervals, mark.capture) == (80, "slow", True, "")
    assert mark.sentence == (
        "Slow after 80.0 s, for 30.0 s: step time 48.2 ms, usually 16.2 ms; data wait 47.2 ms, usually 15.2 ms "
        "by the means of intervals; seen "
        "afterwards, in the recorded intervals."
    )
    assert [(phase.from_s, phase.to_s) for phase in report.phases if phase.kind == "slow"] == [(80, 110)]
    assert "slow once after 80.0 s, for 30.0 s" in report.sentence
    assert "seen afterwards, in the recorded intervals: slow for 30.0 s" in " ".join(runs_text([run]).split())


def test_one_that_was_an_event_is_said_once(tmp_path: Path) -> None:
    ends = {**event(1, "usual", 112), "mean_us": 6e4}
    (mark,) = report_of(run_of(tmp_path, noisy([16] * 8 + [48] * 3 + [16] * 9), event(1, "slow", 84), ends)).marks
    assert (mark.at_s, mark.by_intervals) == (84, False)


def test_a_single_stall_is_no_slow_interval(tmp_path: Path) -> None:
    assert not report_of(run_of(tmp_path, noisy([16] * 20), stall_ms=3000)).marks


def changed(run: Run, number: int, *events: dict[str, Any], **numbers: float) -> Run:
    """With other numbers in one interval, and with events."""
    path = run.parts[0].path
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    [interval for interval in lines if interval["kind"] == "interval"][number]["loaders"][0].update(numbers)
    path.write_text("".join(json.dumps(line) + "\n" for line in (*lines, *events)))
    (found,) = runs_of([read_part(path)])
    return found


def stall(after: float, took_us: float, what: str = "data wait") -> dict[str, Any]:
    return {**event(1, "stall", after, what), "took_us": took_us}


def test_an_interval_of_one_step_that_stalled_is_a_stall_and_nothing_else(tmp_path: Path) -> None:
    """Its other steps are in the stall's window."""
    run = changed(
        run_of(tmp_path, noisy([80] * 20)), 5, stall(54, 2.53e6),
        steps=1, unused_steps=6, step_us=2.6e6, longest_step_us=2.6e6, wait_us=2.53e6, longest_wait_us=2.53e6,
        other_us=1.3e6,
    )  # fmt: skip
    report = report_of(run)
    assert [(mark.change, mark.by_intervals) for mark in report.marks] == [("stall", False)]
    assert "slow" not in report.sentence
    after = changed(run, 6, steps=1, step_us=2e5, longest_step_us=2e5, wait_us=1e3, other_us=1.5e6)
    assert len(report_of(after).marks) == 1, "and one step beside another window makes no slow time of 20 s"


@pytest.mark.parametrize("what", ["data wait", "step time"])
def test_stalls_of_one_interval_are_no_slow_time(tmp_path: Path, what: str) -> None:
    waits = 7e6 if what == "data wait" else 0
    run = changed(
        run_of(tmp_path, noisy([16] * 20)), 5, stall(53, 3e6, what), stall(54, 4e6, what),
        step_us=98 * 16e3 + 7.002e6, wait_us=98 * 15e3 + waits, longest_step_us=4.001e6, longest_wait_us=4e6,
    )  # fmt: skip
    assert [mark.change for mark in report_of(run).marks] == ["stall", "stall"]


def test_neighbouring_intervals_of_one_long_step_each_are_a_slow_time(tmp_path: Path) -> None:
    run = run_of(tmp_path, noisy([16] * 20))
    for number in (5, 6, 7):
        run = changed(run, number, steps=1, step_us=8e6, longest_step_us=8e6, wait_us=8e6, longest_wait_us=8e6)
    marks = report_of(changed(run, 8, stall(59, 8e6))).marks
    assert [(mark.change, mark.by_intervals, mark.at_s) for mark in marks] == [("slow", True, 50), ("stall", False, 59)]
