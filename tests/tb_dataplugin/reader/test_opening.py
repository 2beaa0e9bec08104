"""Links in a log directory: what they lead to outside is refused, and no exchange in between gets around that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cache import fingerprint
from tb_dataplugin.cli import main
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.pipeline import open_capture
from tb_dataplugin.reader import opening, read_trace
from tb_dataplugin.reader.discovery import find_traces
from tb_dataplugin.reader.opening import open_trace, roots_of
from tests.trace_builder import training_run

NAME = "a.pt.trace.json"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    (tmp_path / "logdir").mkdir()
    return tmp_path / "logdir"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return training_run().write(tmp_path / "outside" / NAME)


def problems(logdir: Path, **options: Any) -> tuple[list[str], dict[str, str]]:
    """What was said of folders, and per capture what was refused."""
    said: list[str] = []
    found = {trace.id: trace.refused for trace in find_traces(logdir, said.append, **options)}
    return said, found


def test_a_link_to_a_file_outside_is_found_and_refused(logdir: Path, outside: Path) -> None:
    (logdir / NAME).symlink_to(outside)
    said, found = problems(logdir)
    assert not said and "leads out of the log directory" in found["a"] and opening.ENVIRONMENT in found["a"]


def test_a_link_to_a_folder_outside_is_said_and_not_followed(logdir: Path, outside: Path) -> None:
    (logdir / "run").symlink_to(outside.parent)
    said, found = problems(logdir)
    assert not found and len(said) == 1 and str(logdir / "run") in said[0]


def test_links_within_the_log_directory_are_fine(logdir: Path) -> None:
    training_run().write(logdir / "run" / NAME)
    (logdir / "b.pt.trace.json").symlink_to(logdir / "run" / NAME)
    (logdir / "again").symlink_to(logdir / "run")
    assert problems(logdir) == ([], {"run/a": "", "b": ""})


def test_the_log_directory_may_be_a_link_itself(logdir: Path, tmp_path: Path) -> None:
    training_run().write(logdir / NAME)
    (tmp_path / "latest").symlink_to(logdir)
    assert problems(tmp_path / "latest") == ([], {"a": ""})
    assert open_capture(tmp_path / "latest" / NAME, roots=roots_of([tmp_path / "latest"])).capture.mode == "train"


@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_the_user_may_allow_links(logdir: Path, outside: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(opening.ENVIRONMENT, value)
    (logdir / NAME).symlink_to(outside)
    (logdir / "run").symlink_to(outside.parent)
    (logdir / "circle").symlink_to(logdir)
    assert problems(logdir) == ([], {"a": "", "run/a": ""})


def test_the_command_line_refuses_and_follows_when_told(
    logdir: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logdir / NAME).symlink_to(outside)
    assert main(["report", str(logdir)]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and "leads out" in told.err
    assert main(["report", str(logdir), "--follow-links"]) == 0
    assert main(["compare", str(logdir), str(logdir), "--follow-links"]) == 0
    assert main(["report", str(logdir / NAME)]) == 0  # named by the user


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full", "pipe", "."])
def test_a_link_to_what_never_ends_is_refused_at_once(logdir: Path, target: str) -> None:
    if target == "pipe":
        os.mkfifo(logdir / "pipe")
    (logdir / NAME).symlink_to(target)
    for roots in ((), roots_of([logdir])):
        with pytest.raises((UnreadableTrace, OSError)):
            open_trace(logdir / NAME, roots)
        assert fingerprint(logdir / NAME, roots) is None
        with pytest.raises(UnreadableTrace):
            read_trace(logdir / NAME, None, roots)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = training_run().write(logdir / NAME)
    facts = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda self, **_: facts)  # it was a file a moment ago
    with pytest.raises(UnreadableTrace, match="regular"):
        open_trace(path)


@pytest.mark.parametrize("by", ["file", "folder"])
def test_a_link_put_there_after_the_look_is_refused(logdir: Path, outside: Path, by: str) -> None:
    path = training_run().write(logdir / "run" / NAME)
    (trace,) = find_traces(logdir)
    path.unlink()
    if by == "file":
        path.symlink_to(outside)
    else:
        path.parent.rmdir()
        path.parent.symlink_to(outside.parent)
    assert trace.refused == ""
    with pytest.raises(UnreadableTrace, match="leads out"):
        read_trace(path, None, trace.roots)
    with pytest.raises(UnreadableTrace, match="leads out"):
        open_capture(path, roots=trace.roots)


def test_the_file_that_was_opened_is_judged_not_the_path(
    logdir: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that leads outside while the file is opened, and inside when the path is looked at again."""
    inside = training_run().write(logdir / "inside.pt.trace.json")
    link = logdir / NAME
    link.symlink_to(outside)
    real = os.open

    def open_then_swap(path: Any, *arguments: Any) -> int:
        descriptor = real(path, *arguments)
        if Path(path) == link:
            link.unlink()
            link.symlink_to(inside)
        return descriptor

    monkeypatch.setattr(os, "open", open_then_swap)
    with pytest.raises(UnreadableTrace, match="leads out"):
        open_trace(link, roots_of([logdir]))


def test_a_kept_report_of_a_file_outside_is_not_shown_through_a_link(
    logdir: Path, outside: Path, tmp_path: Path
) -> None:
    from tb_dataplugin.cache import Store

    store = Store(tmp_path / "cache")
    assert open_capture(outside, stores=[store]).store is store
    (logdir / NAME).symlink_to(outside)
    with pytest.raises(UnreadableTrace, match="leads out"):
        open_capture(logdir / NAME, stores=[store], roots=roots_of([logdir]))


def test_nul_in_a_path_is_a_missing_file(logdir: Path) -> None:
    with pytest.raises(UnreadableTrace, match="no such file"):
        read_trace(logdir / "a\0b")
    assert fingerprint(logdir / "a\0b") is None


def test_the_function_refuses_links_too_and_shows_names_as_escapes(logdir: Path, outside: Path) -> None:
    from tb_dataplugin import read_report

    training_run().write(logdir / "a\x1b[2J.pt.trace.json")
    assert "\x1b" not in repr(read_report(logdir)) + str(read_report(logdir))
    (logdir / "b.pt.trace.json").symlink_to(outside)
    with pytest.raises(UnreadableTrace, match="leads out"):
        read_report(logdir)
