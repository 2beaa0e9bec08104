"""The file of a whole run without names: the same numbers, and no name of the program, machine or data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.run_names import REASON, anonymous_run
from tb_dataplugin.watchfile.reading import read_lines, read_part, runs_of
from tb_dataplugin.watchfile.summary import summary_of
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event, interval, write
from tests.trace_builder import TraceBuilder

SECRET = "Q7Secret"
TRACE = f"{SECRET}_1.2.pt.trace.json.gz"


def secrets() -> list[dict[str, Any]]:
    """Lines with the secret wherever a text may stand, and as a key."""
    line = interval(0, **{SECRET: 1.0, "cpu_percent": 50.0})
    sample = {"took_us": 5e3, "index": 4, "files": [f"/data/{SECRET}.jpg"], SECRET: SECRET}
    by_stage = {f"read::{SECRET}": 3}
    line["loaders"][0] |= {"slow_samples": [sample], "failures": by_stage, "retries": by_stage, SECRET: SECRET}
    line["loaders"][0] |= {"stage_us": by_stage, "other_failures": by_stage}
    captured = {"kind": "capture", "t": BEGIN + 8, "event": 1, "capture": TRACE, "from": BEGIN + 7}
    return [
        RUN | {"host": SECRET, "machine": {"name": SECRET}, "versions": {SECRET: SECRET}},
        {"kind": "loader", "loader": 0, "dataset": SECRET, "batch_size": 4, "sampler": SECRET, "name": SECRET},
        line,
        event(1, "stall", 5),
        event(2, SECRET, 6, SECRET),
        captured,
        captured | {"event": 2, "capture": "", "missed": f"{SECRET} is full"},
        {"kind": "end", "t": BEGIN + 10},
    ]


def test_no_secret_is_found_in_what_is_written(tmp_path: Path) -> None:
    path, hasher = write(tmp_path / "a.watch.jsonl", *secrets()), Hasher()
    text = b"".join(anonymous_run(read_lines(path)[1], hasher))
    assert SECRET.encode() not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["kind"] for line in lines] == [line["kind"] for line in secrets()]
    assert lines[1]["dataset"] == hasher.label(SECRET)
    assert list(lines[2]["loaders"][0]["stage_us"]) == [f"read::{hasher.of(SECRET)}"]
    assert lines[2]["machine"] == {"cpu_percent": 50.0}
    assert (lines[3]["change"], lines[3]["what"]) == ("stall", "data wait")
    assert lines[6]["missed"] == REASON and lines[5]["missed"] == ""


def test_the_numbers_of_the_run_are_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), event(1, "stall", 5))
    copy = tmp_path / "b.watch.jsonl"
    copy.write_bytes(b"".join(anonymous_run(read_lines(path)[1], Hasher())))
    before, after = (summary_of(runs_of([read_part(one)])[0]) for one in (path, copy))
    assert before is not None and after is not None
    for name in ("seconds", "steps", "step_us", "wait_share", "p95_us", "epochs", "busy", "ready", "outside", "rate"):
        assert getattr(before, name) == getattr(after, name)


def test_the_command_writes_whole_runs_beside_the_traces_that_they_name(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / SECRET
    folder.mkdir(parents=True)
    write(folder / f"{SECRET}.watch.jsonl", *secrets())
    TraceBuilder().annotated("train").step(0, 100).write(folder / TRACE.removesuffix(".gz"))
    (folder / TRACE.removesuffix(".gz")).rename(folder / TRACE)
    assert main(["anonymise", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    (run,) = (path for path in files if path.name.endswith(".watch.jsonl"))
    (trace,) = (path for path in files if path.name.endswith(".gz"))
    assert run.parent == trace.parent != tmp_path / "out"
    assert SECRET not in str(run.relative_to(tmp_path))
    assert [one.capture for one in read_part(run).captures] == [trace.name, ""]


def test_a_folder_with_a_whole_run_alone_and_its_file_are_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    assert main(["anonymise", str(tmp_path), "-o", str(tmp_path / "one")]) == 0
    assert main(["anonymise", str(path), "-o", str(tmp_path / "two")]) == 0
    assert all(len(list((tmp_path / name).iterdir())) == 1 for name in ("one", "two"))


def test_what_has_no_place_in_one_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TraceBuilder().annotated("train").step(0, 100).write(tmp_path / "a.pt.trace.json")
    write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    assert main(["anonymise", str(tmp_path), "-o", str(tmp_path / "out.pt.trace.json")]) == 0
    assert "left out 1 file of whole runs" in capsys.readouterr().err


def test_a_damaged_run_costs_a_line_and_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.watch.jsonl", "{}")
    write(tmp_path / "b.watch.jsonl", RUN, interval(0))
    assert main(["anonymise", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "does not begin as" in capsys.readouterr().err
    assert len(list((tmp_path / "out").iterdir())) == 1


def run_with_traces(folder: Path) -> Path:
    """Two windows, of which one trace is there; a line that a kill cut off, and one of a later version."""
    one, gone = ({"kind": "capture", "t": BEGIN + 8, "capture": f"{name}.pt.trace.json"} for name in ("a", "gone"))
    later = {"kind": "later", "text": "é"}
    TraceBuilder().annotated("train").step(0, 100).write(folder / "a.pt.trace.json")
    return write(folder / "host_1.watch.jsonl", RUN, interval(0), one, gone, later, '{"kind": "inter')


def test_prune_keeps_whole_runs_beside_their_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run_with_traces(tmp_path / "runs" / "exp1")
    assert main(["prune", str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 0
    copy = tmp_path / "out" / "exp1" / path.name
    assert f"wrote {copy}: " in capsys.readouterr().err
    assert sorted(one.name for one in copy.parent.iterdir()) == ["a.pruned.pt.trace.json.gz", path.name]
    before, after = read_part(path), read_part(copy)
    assert [one.capture for one in after.captures] == ["a.pruned.pt.trace.json.gz", "gone.pt.trace.json"]
    assert (after.head, after.intervals, after.bad_lines) == (before.head, before.intervals, before.bad_lines)
    texts = [text for text in path.read_bytes().splitlines() if b'"capture"' not in text]
    assert [text for text in copy.read_bytes().splitlines() if b'"capture"' not in text] == texts


def test_prune_writes_no_second_run_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_with_traces(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["prune", str(tmp_path)]) == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.pruned.pt.trace.json.gz", "a.pt.trace.json", path.name]


def test_prune_without_a_folder_to_write_into_keeps_runs_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one folder they would be read as one run."""
    for name in ("a", "b"):
        TraceBuilder().annotated("train").step(0, 100).write(tmp_path / name / f"{name}.pt.trace.json")
        write(tmp_path / name / f"{name}.watch.jsonl", RUN, interval(0))
    for place in ("one", "both"):
        (tmp_path / place).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    assert main(["prune", str(tmp_path / "a")]) == 0
    assert (tmp_path / "one" / "a.watch.jsonl").is_file()
    monkeypatch.chdir(tmp_path / "both")
    assert main(["prune", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "left out 2 files of whole runs, of several folders: name a folder with -o" in capsys.readouterr().err
    assert not list((tmp_path / "both").glob("*.watch.jsonl"))


def test_other_commands_say_that_there_is_a_whole_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    assert main(["prune", str(tmp_path)]) == 1
    assert "only a whole run (*.watch.jsonl): `tb-dataplugin report" in capsys.readouterr().err
