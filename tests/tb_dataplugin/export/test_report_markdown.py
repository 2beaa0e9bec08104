"""`report --format markdown`: runs, ranks and captures in a form that a site shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.report_markdown import report_markdown
from tb_dataplugin.report.report_pb2 import Capture, Report, Stage, Verdict
from tests.rank_traces import Spent, captures, write
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event, interval, outer
from tests.tb_dataplugin.test_watchfile import write as write_run


def test_a_folder_of_ranks_with_its_run_is_three_kinds_of_sections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    write_run(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), event(1, "stall", 30))
    assert main(["report", str(tmp_path), "--format", "markdown", "--no-cache"]) == 0
    text = capsys.readouterr().out
    assert "### Whole run: 25.0% of the step time is data wait\n\n600 steps in 60.0 s" in text
    assert "- Epoch 2, batch 9: data wait 25.0 s, usually 20.0 ms." in text
    assert "### Ranks of .: Rank 1 holds up the others" in text
    assert "| 1 | " in text and "decode::jpeg |" in text
    assert "### rank0: " in text and "| decode::jpeg | 8 |" in text


def test_a_whole_run_has_the_numbers_of_the_terminal_and_its_longest_events_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = {"loaders": [interval(5)["loaders"][0] | {"slow_samples": [{"took_us": 9e5, "index": 7, "epoch": 2}]}]}
    stalls = [
        event(number, "stall", 10 + number) | {"took_us": 1e6 * number, "batch": number} for number in range(1, 8)
    ]
    goes_on = event(9, "slow", 40) | {"took_us": 3e4, "batch": 90}
    recorded = {"kind": "capture", "t": BEGIN + 50, "event": 7, "capture": "seven.pt.trace.json.gz"}
    lines = (*map(interval, range(5)), interval(5) | slow, *stalls, goes_on, recorded)
    assert main(["report", str(write_run(tmp_path / "a.watch.jsonl", RUN, *lines)), "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "step 100 ms \\(p95 about 286 ms, longest 300 ms\\); 80.0 samples/s of 20.0 s of the 60.0 s: " in text
    assert "without the intervals in which a window was recorded; first batches took 500 ms" in text
    batches = [line.partition(", batch ")[2].partition(":")[0] for line in text.splitlines() if ", batch " in line]
    assert batches[:5] == ["90", "7", "6", "5", "4"], "what goes on for 20 s, then stalls of 7 s and less"
    assert "to the end" in text and "The steps after it are in seven." in text and "- and 3 shorter events" in text
    assert "that were looked at: index 7, 900 ms" in text and "| decode::b | 4.00 ms |" in text


def test_a_whole_run_whose_largest_part_is_outside_of_steps_begins_with_that_and_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [outer(number, between_us=7e6, longest_between_us=3e6) for number in range(2)]
    write_run(tmp_path / "a.watch.jsonl", RUN, *lines)
    assert main(["report", str(tmp_path), "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### Whole run: 75.0% of it is outside of steps\n")
    assert "- The DataLoader is made anew, 10 times for 10 epochs: make it and its dataset once." in text


def test_whole_runs_of_several_folders_are_named_the_worst_first_and_one_without_steps_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, waits in (("calm", 1e5), ("idle", None), ("waiting", 9e6)):
        (tmp_path / name).mkdir()
        line = interval(0)
        line["loaders"][0] |= {"wait_us": waits or 0} if waits else {"steps": 0}
        write_run(tmp_path / name / "a.watch.jsonl", RUN, line)
    assert (
        main(["report", *(str(tmp_path / name) for name in ("calm", "idle", "waiting")), "--format", "markdown"]) == 0
    )
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("#")]
    assert heads == [
        "### Whole run waiting: 90.0% of the step time is data wait",
        "### Whole run calm: 1.00% of the step time is data wait",
        "### Whole run idle: no step was recorded",
    ]


def test_names_from_a_trace_are_no_markdown() -> None:
    stage = Stage(kind="transform", label="<b>|x", count=1)
    report = Report(captures=[Capture(name="a_b_", verdict=Verdict(sentence="*"), stages=[stage])])
    text = report_markdown(report)
    assert "### a\\_b\\_: \\*" in text and "transform::\\<b\\>\\|x" in text
