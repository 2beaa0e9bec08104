"""`report --summary` of whole runs: a row each, worst first, with what stands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tests.tb_dataplugin.test_watchfile import RUN, event, interval, outer, write
from tests.trace_builder import TraceBuilder


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["report", *map(str, arguments)]) == 0
    return " ".join(capsys.readouterr().out.split())


def capture(path: Path) -> None:
    TraceBuilder().annotated("train").step(0, 100).write(path)


def test_a_row_for_each_run_below_those_of_captures_worst_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    worse = interval(0)
    worse["loaders"][0]["wait_us"] = 8e6
    write(tmp_path / "a.watch.jsonl", RUN | {"rank": 0}, *map(interval, range(6)))
    write(tmp_path / "b.watch.jsonl", RUN | {"rank": 1}, worse, event(1, "stall", 5), event(2, "slow", 6, "step time"))
    write(tmp_path / "c.watch.jsonl", RUN | {"rank": 2})
    capture(tmp_path / "d.pt.trace.json")
    text = said(capsys, ".", "--summary")
    assert text.startswith("1 capture, worst first") and "3 whole runs, worst first: by the data wait" in text
    assert "80.0% 100 ms – 1 stall, the longest 25.0 s; slow once" in text and "after 6.00 s, to the end" in text
    assert "25.0% 100 ms – no stall, no slow time" in text
    assert text.index("rank 1") < text.index("rank 0") < text.index("rank 2 – – – no step was recorded: ")
    assert "samples/s" not in text, "that is in the whole report"


def test_what_stands_out_is_in_few_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = outer(0, between_us=7e6, longest_between_us=3e6, failures={"read::s3": 3}, measured_samples=9)
    line["machine"] = {"gc_share": 0.5}
    path = write(tmp_path / "a.watch.jsonl", RUN, line)
    text = said(capsys, path, "--summary")
    for words in (
        "75.0% of the run is outside of steps; the DataLoader is made anew, 5 times for 5 epochs; read::s3 fails (3",
        "Python's garbage collector has 50.0% of the run below each: what stands out",
    ):
        assert words in text


def test_a_summary_is_text_and_other_formats_have_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    capture(tmp_path / "d.pt.trace.json")
    for other in ("json", "markdown", "html"):
        assert main(["report", str(tmp_path), "--summary", "--format", other]) == 2
        answer = capsys.readouterr()
        assert answer.out == ""
        assert f"--summary is text only; leave out --summary, or --format {other}" in answer.err
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    assert '"whole_runs": [\n    {' in capsys.readouterr().out
    assert "### Whole run" in said(capsys, tmp_path, "--format", "markdown")


def test_a_file_of_a_run_may_be_named_also_beside_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    assert "run 10.0 s 100 steps step time" in said(capsys, path)
    assert "run 10.0 s 100 steps step time" in said(capsys, path, tmp_path)
    assert main(["report", str(tmp_path / "none.watch.jsonl")]) == 2
    assert "none.watch.jsonl: No such file" in capsys.readouterr().err


def test_a_folder_of_runs_alone_takes_no_captures_from_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    capture(tmp_path / "a/d.pt.trace.json")
    write(tmp_path / "b/a.watch.jsonl", RUN, interval(0))
    for paths in ("ab", "ba"):
        text = said(capsys, *(tmp_path / name for name in paths), "--summary")
        assert "1 capture, worst first" in text and "1 whole run" in text


def test_an_impossible_number_of_a_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = interval(0)
    line["loaders"][0]["epochs"] = 10**14
    write(tmp_path / "a.watch.jsonl", RUN, line)
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    done = capsys.readouterr()
    assert "impossible numbers" in done.err and '"whole_runs": []' in done.out
