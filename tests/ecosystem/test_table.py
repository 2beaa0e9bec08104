"""What docs/ecosystem.md is made of: lines that pieces of one run have written, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ecosystem import ledger, table
from tests.ecosystem.ledger import STAGE_TABLE, Made, Ran, Run, Tried
from tests.ecosystem.pipeline import RUN, WAYS

KEY = ("mod", "a pipeline")


def tried(way: str, *first: bool, same: bool = True) -> Tried:
    return Tried(
        module="mod",
        library="lib",
        version="1.0",
        title="a pipeline",
        way=way,
        same=same,
        first=first,
        leading=tuple("transform::Slow" if each else "transfer::queue" for each in first),
        stages=(f"transform::{way}",),
        unseen="",
        note="",
    )


def run_of(*seen: Tried) -> Run:
    return Run([Made("abc1234", "2026-11-23", 3.5)], {(*KEY, each.way): each for each in seen}, {})


def row(run: Run) -> list[str]:
    return [cell.strip() for cell in table.rows(run, [KEY]).splitlines()[-1].strip("|").split("|")]


def test_a_cell_says_how_many_of_its_attempts_named_the_stage() -> None:
    run = run_of(tried("steps", True), tried("auto", False, True, True), tried(RUN, False, False, False))
    assert row(run)[3:8] == ["yes", "yes", "2 of 3", "not run", "no"]
    assert table.missing(run, [KEY]) == [(*KEY, "own profiler")]


def test_a_cell_that_came_to_no_end_has_failed_and_other_batches_are_not_the_same() -> None:
    run = run_of(*(tried(way, True) for way in WAYS[1:]), tried("steps", same=False))
    assert row(run)[3:5] == ["**no**", "**failed**"]


def test_stages_of_all_ways_stand_in_one_row() -> None:
    run = run_of(*(tried(way, True) for way in WAYS))
    assert row(run)[8] == ", ".join(f"`transform::{way}`" for way in sorted(WAYS))
    assert table.missing(run, [KEY]) == []


def test_the_page_says_of_which_commit_and_load_it_is() -> None:
    text = table.rows(run_of(tried("steps", True), tried("auto", False, True, True)), [KEY])
    assert text.startswith(
        "One run of `abc1234` on 2026-11-23: 2 cells, 1 of them tried again; load average up to 3.5."
    )


def test_cells_that_were_run_again_after_a_mend_are_named() -> None:
    run = run_of(*(tried(way, True) for way in WAYS))
    commits = {(*KEY, way): "abc1234" for way in WAYS}
    assert table.mended(run._replace(commits=commits)) == ""
    commits[(*KEY, RUN)] = "def5678"
    assert table.mended(run._replace(commits=commits)) == f" Run again at `def5678`: lib / a pipeline / `{RUN}`."


def test_scripts_without_a_stage_table_are_named() -> None:
    ran = [Ran("a", STAGE_TABLE, True), Ran("b", "no DataLoader was iterated", True), Ran("c", "failed: boom", False)]
    text = table.scripts(Run([], {}, {each.script: each for each in ran}, [Made("abc1234", "2026-11-23", 3.5)]))
    assert text.startswith("One run of `abc1234` on 2026-11-23: 3 scripts; load average up to 3.5.")
    assert "**2 of 3**" in text
    assert "table in **1 of 3**" in text
    assert "`b` (no DataLoader was iterated), `c` (failed: boom)" in text


def test_pieces_of_a_run_are_joined_and_the_last_line_of_a_cell_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "first", tmp_path / "second"]
    pieces = [tried("auto", False), Ran("a", "failed", False)], [tried("auto", True)]
    for file, seen in zip(files, pieces, strict=True):
        monkeypatch.setenv(ledger.FILE, str(file))
        for each in seen:
            ledger.note(each)
    read = ledger.read(files)
    assert read.tried[(*KEY, "auto")] == tried("auto", True)
    assert read.ran == {"a": Ran("a", "failed", False)}
    assert len({made.commit for made in read.made}) == len({made.commit for made in read.ran_made}) == 1


def test_a_run_that_goes_on_leaves_out_what_it_has_of_this_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ledger.FILE, str(tmp_path / "run"))
    monkeypatch.delenv(ledger.GO_ON, raising=False)
    for each in (tried("auto", True), Ran("a", "failed", False)):
        ledger.note(each)
    assert ledger.done() == set()
    monkeypatch.setenv(ledger.GO_ON, "1")
    assert ledger.done() == {(*KEY, "auto"), ("a",)}
    monkeypatch.setattr(ledger, "_commit", lambda: "another")
    assert ledger.done() == set()


def test_nothing_is_written_where_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ledger.FILE, raising=False)
    monkeypatch.chdir(tmp_path)
    ledger.note(tried("auto", True))
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_two_commits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run"
    lines = [{"kind": "Ran", "made": [name, "2026-11-23", 1.0], "seen": ["a", "failed", False]} for name in "ab"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr("sys.argv", ["table", str(file)])
    with pytest.raises(SystemExit, match="2 commits"):
        table.main()
