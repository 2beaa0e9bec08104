"""A run whose batches another thread takes than the one that trains: its waits are not the training's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_dataplugin.export.run_markdown import run_section
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.export.runs_summary import runs_summary
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.watchfile.reading import Run, read_part, runs_of
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event, interval, write

FED = "another thread than the one that trains takes the batches"


def taken(number: int, **by: int) -> dict[str, Any]:
    line = interval(number)
    line["loaders"][0] |= by
    return line


def run_of(tmp_path: Path, *lines: dict[str, Any]) -> Run:
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, *lines, {"kind": "end", "t": BEGIN + 60}))])
    return run


def report_of(run: Run) -> pb.WholeRun:
    report = whole_run_report(run, "exp1")
    assert report is not None
    return report


def text_of(run: Run) -> str:
    return " ".join(runs_text([run]).split())


def test_a_fed_run_has_no_data_wait_anywhere_and_says_whose_wait_is_known(tmp_path: Path) -> None:
    lines = [taken(number, elsewhere=101, fed=99, own=1) for number in range(3)]
    run = run_of(tmp_path, *lines, event(1, "stall", 12))
    report, waits = report_of(run), "that thread waits for them 25.0% of its time from batch to batch"
    assert f"the data wait is unknown, since {FED} ({waits}); 1 stall" in report.sentence
    assert "is data wait" not in report.sentence and "added by" not in report.sentence
    assert not report.HasField("data_wait_share") and report.data_wait_note == f"{FED}; {waits}"
    assert not any(point.HasField("data_wait_share") for point in report.points)
    (mark,) = report.marks
    assert mark.what == "wait of the thread that takes the batches" and "data wait" not in mark.sentence
    assert f"data wait – {FED}; {waits}; first batches" in text_of(run)
    assert FED in " ".join(runs_summary([run]).split()) and "25.0%" not in runs_summary([run])
    assert next(run_section(report)) == "### Whole run exp1: data wait is unknown"


def test_a_drift_of_such_a_run_names_that_threads_wait(tmp_path: Path) -> None:
    lines = [taken(number, elsewhere=100, fed=100, step_us=int(1e7 * (1 + number / 10))) for number in range(12)]
    sentence = report_of(run_of(tmp_path, *lines)).sentence
    assert "step time rises" in sentence and "(wait of the thread that takes the batches from" in sentence


def test_where_nobody_was_seen_to_train_the_wait_is_of_a_thread_that_is_not_the_main_one(tmp_path: Path) -> None:
    run = run_of(tmp_path, *(taken(number, elsewhere=101) for number in range(3)), event(1, "stall", 12))
    whose, report = "a thread that is not the main one, and which thread trains was not seen", report_of(run)
    assert f"25.0% of the step time is data wait of {whose}" in report.sentence
    assert report.data_wait_share == 0.25 and report.data_wait_note == f"of the step time of {whose}"
    assert f"data wait 25.0% of the step time of {whose}" in text_of(run)
    assert report.marks[0].what == "data wait"


def test_a_thread_that_trains_on_its_own_batches_has_a_data_wait_and_so_have_files_of_earlier_versions(
    tmp_path: Path,
) -> None:
    for by in ({"elsewhere": 101, "own": 100}, {"own": 60, "fed": 5}, {}):
        run = run_of(tmp_path, *(taken(number, **by) for number in range(3)))
        report = report_of(run)
        assert "25.0% of the step time is data wait." in report.sentence and "thread" not in report.sentence
        assert report.data_wait_note == "of the step time" and "data wait 25.0% of the step time; first" in text_of(run)


def test_of_several_loaders_each_has_its_own_takers(tmp_path: Path) -> None:
    """The training's are taken ahead, the evaluation's by the thread that trains."""
    lines = [taken(number, elsewhere=101, fed=100) for number in range(3)]
    for line in lines:
        line["loaders"].append({"loader": 1, "steps": 10, "step_us": 4e5, "wait_us": 2e5, "epochs": 1})
    run = run_of(tmp_path, *lines)
    train, evaluation = report_of(run).loaders
    assert not train.HasField("data_wait_us") and not train.HasField("share")
    assert "by another thread than the one that trains" in train.text
    assert evaluation.data_wait_us == 6e5 and "thread" not in evaluation.text
