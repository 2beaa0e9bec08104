"""What the route `what_if` understands, and what becomes of a process that reads nothing."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from werkzeug import Request
from werkzeug.test import create_environ

from tb_dataplugin.errors import BadRequest, NothingToReport, UnreadableTrace
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.tb import loops
from tb_dataplugin.tb.what_if import changes_of
from tb_dataplugin.whatif import Change


def request(query: str) -> Request:
    return Request(create_environ("/what_if", query_string=query))


def test_a_change_is_read_from_the_query() -> None:
    asked = changes_of(request("id=a&workers=4&prefetch=3&in_order=off&stage=decode=0.5x&stage=transfer=0x"))
    assert asked == [Change(4, 3, False, (("decode", 0.5), ("transfer", 0.0)))]
    assert changes_of(request("id=a")) == []
    asked = changes_of(request("id=a&batch=64&pin=on&move=transform::Crop=device"))
    assert asked == [Change(batch=64, pin=True, moved=("transform::Crop",))]


@pytest.mark.parametrize(
    "query",
    [
        "workers=-1",
        "workers=1e3",
        "workers=8..0",
        "workers=0..99",
        "workers=1,,2",
        "prefetch=x",
        "in_order=maybe",
        "stage=decode",
        "pin=off",
        "move=Crop",
        "batch=1.5",
    ],
)
def test_a_change_that_cannot_be_read_is_a_bad_request(query: str) -> None:
    with pytest.raises(BadRequest):
        changes_of(request(query))


def test_many_stages_are_refused() -> None:
    with pytest.raises(BadRequest, match="name 16 at most"):
        changes_of(request("&".join(["stage=decode=0.5x"] * 17)))


def answered(monkeypatch: pytest.MonkeyPatch, output: bytes) -> loops.Loops:
    def run(*_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([sys.executable], 0, output)

    monkeypatch.setattr(subprocess, "run", run)
    return loops.Loops(())


def trace(path: Path) -> TraceFile:
    path.write_bytes(b"x")
    return TraceFile(path, ".", path.name, 1, 2)


def test_the_line_that_says_why_nothing_can_be_predicted_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(NothingToReport, match="no stage was recorded"):
        answered(monkeypatch, pickle.dumps("no stage was recorded")).loop(trace(tmp_path / "a.json"))


def test_a_process_that_ends_without_a_word_is_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableTrace, match="the process that read it ended"):
        answered(monkeypatch, b"").loop(trace(tmp_path / "a.json"))


@pytest.mark.parametrize(("text", "numbers"), [("4", [4]), ("0..2", [0, 1, 2]), ("1,2,4", [1, 2, 4])])
def test_several_numbers_of_workers_are_as_many_changes(text: str, numbers: list[int]) -> None:
    assert [change.workers for change in changes_of(request(f"id=a&workers={text}&prefetch=3"))] == numbers
