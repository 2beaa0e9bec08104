"""Stalls among the first steps of a process, when annotate.watch does not know yet what is usual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotate.whole_run import tally, usual
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.report.report_pb2 import WholeRun
from tb_dataplugin.watchfile import early, histogram
from tb_dataplugin.watchfile.reading import Run, read_part, runs_of
from tb_dataplugin.watchfile.sentences import run_in_short
from tb_dataplugin.watchfile.summary import summary_of
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event, write

USUAL, WAIT, LONG = "57", "52", "86"
"""Buckets of 19.5 ms, 8.2 ms and 3 s."""


def interval(number: int, steps: int, stall_us: float = 0, *, waits: bool = True, others: int = 0) -> dict[str, Any]:
    """Of 10 s, with steps of 18 ms, of which 8 ms are data wait, `others` of them 3 s, and one that takes longer."""
    stalls = int(stall_us > 0)
    numbers = {
        "loader": 0, "steps": steps, "samples": 8 * steps, "step_us": 18e3 * steps + stall_us,
        "wait_us": 8e3 * steps + stall_us * waits, "longest_step_us": max(18e3, stall_us),
        "longest_wait_us": max(8e3, stall_us * waits),
        "step_times": {USUAL: steps - stalls - others, LONG: stalls + others},
        "wait_times": {WAIT: steps - (stalls + others) * waits, LONG: (stalls + others) * waits},
    }  # fmt: skip
    at = BEGIN + 10 * number
    return {"kind": "interval", "from": at, "to": at + 10, "loaders": [numbers]}


def run_of(tmp_path: Path, *lines: dict[str, Any], workers: int = 0) -> Run:
    loader = {"kind": "loader", "loader": 0, "dataset": "Mined", "num_workers": workers}
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, loader, *lines))])
    return run


def report_of(run: Run) -> WholeRun:
    report = whole_run_report(run, "exp1")
    assert report is not None
    return report


def told(took_us: float, after: float) -> dict[str, Any]:
    return {**event(1, "stall", after), "took_us": took_us}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_long_data_wait_among_the_first_steps_is_a_stall_seen_afterwards(tmp_path: Path, workers: int) -> None:
    run = run_of(tmp_path, interval(0, 20), interval(1, 30, 2.5e6), interval(2, 400), workers=workers)
    report = report_of(run)
    (mark,) = report.marks
    assert (mark.change, mark.what, mark.took_us, mark.by_intervals) == ("stall", "data wait", 2.5e6, True)
    assert (mark.at_s, mark.long_us, mark.captured_after) == (10, 2.5e6, False)
    assert mark.sentence == (
        "A stall between 10.0 s and 20.0 s: data wait 2.50 s, usually 7.51 ms; seen afterwards, in the recorded "
        "intervals."
    )
    assert mark.note == "Seen afterwards, in the recorded intervals; usual is the median of the process's steps."
    assert "1 stall, the longest 2.50 s" in report.sentence and "perhaps" not in report.sentence
    assert "(between 10.0 s and 20.0 s), seen afterwards, in the" in runs_text([run])


def test_a_long_step_that_is_no_data_wait_is_a_stall_where_it_cannot_be_the_first_of_all(tmp_path: Path) -> None:
    later = run_of(tmp_path, interval(0, 20), interval(1, 30, 2.5e6, waits=False), interval(2, 400))
    (mark,) = report_of(later).marks
    assert (mark.change, mark.what, mark.took_us) == ("stall", "step time", 2.5e6)
    first = run_of(tmp_path, interval(0, 47, 2.5e6, waits=False), interval(2, 400))
    report = report_of(first)
    said = "one of the first 47 steps took 2.50 s, usually 17.9 ms"
    assert not report.marks and f"{said}: perhaps the very first, in which many programs compile" in report.sentence
    assert said in runs_text([first])
    summary = summary_of(first)
    assert summary is not None and run_in_short(summary).endswith(said)


@pytest.mark.parametrize(
    "lines",
    [
        [interval(0, 47, 2.5e6), interval(1, 400), told(2.5e6, 5)],
        [interval(0, 47, 2.5e6), interval(1, 400), told(2e6, 5)],
        [interval(0, 47, 2.5e6), interval(1, 400), event(1, "slow", 5)],
        [interval(0, 100), interval(1, 400, 2.5e6)],
        [interval(0, 40, 2.5e6)],
        [interval(0, 47, 2.5e6, others=20), interval(1, 400)],
        [interval(0, 47, 2.5e6), interval(1, 400, others=40)],
        [interval(0, 47, 2.2e5), interval(1, 400)],
    ],
    ids=[
        "an event",
        "beside one that was not much shorter",
        "in a slow time",
        "later",
        "too few steps to know",
        "slow as it begins",
        "as usual as others later",
        "not long enough",
    ],
)
def test_any_other_is_none(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    report = report_of(run_of(tmp_path, *lines))
    assert not [mark for mark in report.marks if mark.by_intervals] and "perhaps the very first" not in report.sentence


def test_a_shorter_stall_that_was_an_event_hides_no_early_one(tmp_path: Path) -> None:
    marks = report_of(run_of(tmp_path, interval(0, 200, 3e6), interval(1, 400), told(6e5, 5))).marks
    assert [(mark.took_us, mark.by_intervals) for mark in marks] == [(3e6, True), (6e5, False)]


def test_one_of_the_first_interval_is_in_the_time_until_its_end(tmp_path: Path) -> None:
    (mark,) = report_of(run_of(tmp_path, interval(0, 200, 3e6), interval(1, 400))).marks
    assert mark.sentence.startswith("A stall in the first 10.0 s: data wait 3.00 s, usually 7.51 ms; seen")


def test_with_many_workers_the_first_steps_are_more(tmp_path: Path) -> None:
    lines = interval(0, 100), interval(1, 100, 2.5e6), interval(2, 400)
    assert not report_of(run_of(tmp_path, *lines, workers=8)).marks
    assert len(report_of(run_of(tmp_path, *lines, workers=16)).marks) == 1


def test_what_a_stall_is_is_the_same_for_who_records_and_who_reads() -> None:
    """Neither imports the other."""
    assert (early._TIMES, early._US * 1000, early._TOLD) == (usual._STALL_TIMES, usual._STALL_NS, usual._LONGER)
    assert (early._LEARNT, early._LEARNT_TURNS) == (usual._FEWEST_ROUNDS * usual._ROUND, usual._FEWEST_TURNS)
    assert early._LONGEST == 0.5 ** (1 / usual._ROUND)
    assert histogram._PER_OCTAVE == tally._PER_OCTAVE
