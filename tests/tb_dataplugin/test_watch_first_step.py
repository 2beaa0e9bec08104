"""The first step of a process, which compiles and allocates in many programs, and stalls that are told late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotate.whole_run import tally
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.watchfile import histogram
from tb_dataplugin.watchfile.reading import Run, read_part, runs_of
from tb_dataplugin.watchfile.sentences import run_in_short
from tb_dataplugin.watchfile.summary import summary_of
from tests.tb_dataplugin.test_watchfile import RUN, event, interval, write


def run_of(tmp_path: Path, *lines: dict[str, Any]) -> Run:
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, *lines))])
    return run


def stall(after: float, took_us: float, **fields: Any) -> dict[str, Any]:
    return {**event(1, "stall", after), "took_us": took_us, "usual_us": 17.9e3, "usual_steps": 200, **fields}


def test_a_first_step_that_takes_long_is_said_and_is_no_stall(tmp_path: Path) -> None:
    first = stall(2, 2.5e6, what="step time", epoch=0, batch=0)
    run = run_of(tmp_path, interval(0), first, interval(1))
    report = whole_run_report(run, "exp1")
    assert report is not None and not report.marks
    said = "the first step took 2.50 s, usually 17.9 ms"
    assert f"{said}: in it many programs compile" in report.sentence and said in runs_text([run])
    summary = summary_of(run)
    assert summary is not None and run_in_short(summary).endswith(said)


def test_its_data_wait_and_the_first_of_a_later_epoch_are_stalls(tmp_path: Path) -> None:
    waits = stall(2, 2.5e6, what="data wait", epoch=0, batch=0)
    later = stall(4, 2.5e6, what="step time", epoch=1, batch=0)
    report = whole_run_report(run_of(tmp_path, interval(0), waits, later, interval(1)), "exp1")
    assert report is not None and len(report.marks) == 2 and "the first step" not in report.sentence


def test_a_stall_that_is_told_later_stands_at_its_own_time(tmp_path: Path) -> None:
    lines = interval(0), interval(1), stall(12, 9e5, epoch=0, batch=70), stall(3, 2.5e6, epoch=0, batch=12)
    report = whole_run_report(run_of(tmp_path, *lines), "exp1")
    assert report is not None
    assert [(mark.at_s, mark.batch, mark.by_intervals) for mark in report.marks] == [(3, 12, False), (12, 70, False)]
    assert report.marks[0].sentence == "Epoch 0, batch 12: data wait 2.50 s, usually 17.9 ms."


def test_buckets_of_times_are_the_same_for_who_records_and_who_reads() -> None:
    """Neither imports the other."""
    assert histogram._PER_OCTAVE == tally._PER_OCTAVE
