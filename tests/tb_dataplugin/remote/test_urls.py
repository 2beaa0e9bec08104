"""Traces behind URLs, by fsspec's file system in memory; failing ones are made of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import tb_dataplugin
from tb_dataplugin.cli import main
from tb_dataplugin.errors import NothingToReport, UnreadableTrace
from tb_dataplugin.remote import Mirror, Storage, Url, place
from tb_dataplugin.remote.storage import _modified_ns
from tests.tb_dataplugin.test_watchfile import RUN, interval
from tests.trace_builder import TraceBuilder

TRACE = TraceBuilder().step(0, 100).wait(10, 30).kernel(50, 40).json()
NAME = "a.pt.trace.json"


@pytest.fixture(autouse=True)
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    files.pipe({f"/runs/one/{NAME}": TRACE, "/runs/two/b.pt.trace.json": TRACE, "/runs/two/notes.txt": b"-"})
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_a_path_stays_a_path() -> None:
    assert place("runs/one") == Path("runs/one")
    assert place("C:/runs") == Path("C:/runs")
    assert place("s3://runs/one") == Url("s3://runs/one")


def test_a_password_is_never_shown() -> None:
    assert str(Url("http://me:secret@host/a.json?signature=secret")) == "http://host/a.json"


def test_a_url_gives_the_report_of_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    local = tmp_path / NAME
    local.write_bytes(TRACE)
    assert main(["report", str(local), "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)["captures"][0]
    assert main(["report", f"memory://runs/one/{NAME}", "--format", "json"]) == 0
    capture = json.loads(capsys.readouterr().out)["captures"][0]
    assert capture["file"] == f"memory://runs/one/{NAME}"
    assert capture | {"file": "", "name": ""} == expected | {"file": "", "name": ""}


def test_a_folder_is_searched_as_a_local_one_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "memory://runs", "--format", "json"]) == 0
    names = [capture["name"] for capture in json.loads(capsys.readouterr().out)["captures"]]
    assert names == ["one/a", "two/b"]


WORDS = [
    ["compare", "memory://runs/one", "memory://runs/two"],
    ["report", "memory://runs"],
    ["report", "memory://runs", "--format", "html"],
]


@pytest.mark.parametrize("words", WORDS)
def test_commands_take_urls(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["verify", "memory://runs/one", "--finding", "9", "--target", "m:n"], "a has no finding 9"),
        (["tune", "m:n", "--capture", "memory://runs/one"], f"memory://runs/one/{NAME}: Nothing can be predicted"),
        (["probe-storage", f"memory://runs/one/{NAME}"], f"memory://runs/one/{NAME} names no sample file"),
        (["whatif", "memory://runs/one"], f"memory://runs/one/{NAME}: Nothing can be predicted"),
        (["report", "memory://bad/x.json"], "cannot read memory://bad/x.json: "),
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_cannot_use_what_a_url_names_says_so_of_the_url(
    words: list[str], line: str, bucket: MemoryFileSystem, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.pipe("/bad/x.json", b"no trace")
    assert main(words) in (1, 2)
    assert capsys.readouterr().err.startswith(f"tb-dataplugin: {line}")


def test_python_takes_urls() -> None:
    assert [capture.name for capture in tb_dataplugin.read_report("memory://runs")] == ["one/a", "two/b"]
    report = tb_dataplugin.read_report([f"memory://runs/one/{NAME}", "memory://runs/two"])
    assert [capture.file for capture in report] == [f"memory://runs/one/{NAME}", "memory://runs/two/b.pt.trace.json"]
    assert "memory://runs/two" in report._repr_html_()
    with pytest.raises(UnreadableTrace, match="there is no such file or folder"):
        tb_dataplugin.read_report("memory://nowhere")
    with pytest.raises(NothingToReport):
        tb_dataplugin.what_if("memory://runs/one")


def test_a_report_begins_with_the_whole_runs_of_the_folder(
    bucket: MemoryFileSystem, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in (RUN, interval(0)))
    bucket.pipe({"/runs/one/a.watch.jsonl": lines.encode(), "/runs/two/b.watch.jsonl": b"-"})
    assert main(["report", "memory://runs", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert [run["run"] for run in json.loads(out)["whole_runs"]] == ["one"]
    assert len(err.splitlines()) == 1


def test_a_time_is_known_in_whatever_way_a_storage_says_it(bucket: MemoryFileSystem) -> None:
    (trace,) = Storage(Url(f"memory://runs/one/{NAME}")).traces()
    assert abs(trace.modified_ns / 1e9 - time.time()) < 60
    url = Url("s3://x/h_1.1700000000000000000.pt.trace.json")
    times: list[tuple[dict[str, object], int]] = [
        ({"LastModified": datetime(2026, 1, 1, tzinfo=timezone.utc)}, 1767225600),
        ({"updated": "2026-01-01T00:00:00Z"}, 1767225600),
        ({"mtime": 1767225600.0}, 1767225600),
        ({"created": "yesterday"}, 1700000000),
        ({}, 1700000000),
    ]
    assert [_modified_ns(info, url) // 10**9 for info, _ in times] == [seconds for _, seconds in times]


def test_prune_writes_here_what_lies_there(tmp_path: Path) -> None:
    out = tmp_path / "out.pt.trace.json.gz"
    assert main(["prune", f"memory://runs/one/{NAME}", "-o", str(out)]) == 0
    assert out.is_file()


def test_a_file_is_fetched_once_for_each_state_of_it(bucket: MemoryFileSystem, tmp_path: Path) -> None:
    mirror, opened = Mirror(tmp_path / "mirror"), []
    storage = Storage(Url(f"memory://runs/one/{NAME}"))

    def fetch() -> Path:
        (trace,) = storage.traces()
        opened.append(mirror.fetch(storage, trace))
        return opened[-1]

    first = fetch()
    before = first.stat().st_ino
    assert fetch() == first
    assert first.stat().st_ino == before
    bucket.pipe(f"/runs/one/{NAME}", TRACE + b"\n")
    assert fetch() != first
    assert opened[-1].read_bytes() == TRACE + b"\n"


def test_the_mirror_is_bounded(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "mirror", limit_bytes=len(TRACE) + 10)
    storage = Storage(Url("memory://runs"))
    places = [mirror.fetch(storage, trace) for trace in storage.traces()]
    assert [path.exists() for path in places] == [False, True]


class Failing(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Opening a file does what the test says."""

    protocol = "failing"
    cachable = False
    opening: Callable[[bytes], Any]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("failing://", "memory://")))

    def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        return type(self).opening(super().open(path, mode).read())


class Cut:
    """A connection that ends early."""

    def __init__(self, data: bytes) -> None:
        self._blocks = [data[:100], b""]

    def read(self, _: int) -> bytes:
        return self._blocks.pop(0)

    def close(self) -> None:
        pass


def raising(error: Exception) -> Callable[[bytes], Any]:
    def fail(_: bytes) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("opening", "reason"),
    [
        (raising(PermissionError("Access Denied")), "permission denied; check your credentials"),
        (raising(FileNotFoundError("gone")), "there is no such file or folder; check the URL"),
        (raising(TimeoutError("read timed out")), "the server does not answer (read timed out); try again later"),
        (raising(OSError("SSL\nbroken")), "SSL broken; check the URL"),
        (raising(KeyError("x")), "'x'; check the URL"),
        (Cut, f"100 of its {len(TRACE):,} bytes came; try again"),
    ],
)
def test_what_goes_wrong_is_one_line_and_leaves_nothing(
    opening: Callable[[bytes], Any],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    fsspec.register_implementation("failing", Failing, clobber=True)
    monkeypatch.setattr(Failing, "opening", staticmethod(opening), raising=False)
    assert main(["report", f"failing://runs/one/{NAME}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tb-dataplugin: cannot read failing://runs/one/{NAME}: {reason}")
    assert not any(path.is_file() for path in (tmp_path / "cache").rglob("*"))


def test_a_file_of_a_folder_that_cannot_be_fetched_costs_its_row_and_the_exit_status(
    bucket: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch = Mirror.fetch

    def deny(self: Mirror, storage: Storage, trace: Any) -> Path:
        if "/two/" in str(trace.url):
            raise UnreadableTrace(str(trace.url), "permission denied", "check your credentials")
        return fetch(self, storage, trace)

    monkeypatch.setattr(Mirror, "fetch", deny)
    assert main(["report", "memory://runs", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert [capture["name"] for capture in json.loads(out)["captures"]] == ["one/a"]
    (line,) = err.splitlines()
    assert "cannot read memory://runs/two/" in line and "check your credentials" in line


def test_a_server_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = threading.Event()
    fsspec.register_implementation("failing", Failing, clobber=True)
    monkeypatch.setattr(Failing, "opening", staticmethod(lambda _: answer.wait()), raising=False)
    storage = Storage(Url(f"failing://runs/one/{NAME}"), patience_s=0.01)
    trace = next(Storage(storage.url).traces())
    with pytest.raises(UnreadableTrace, match=r"does not answer \(no answer for 0.01 s\)"):
        Mirror(tmp_path).fetch(storage, trace)
    answer.set()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("memory://runs/none", "there is no such file or folder"),
        (f"memory://runs/{NAME}", "there is no such file or folder"),
        ("nosuch://runs", "check how it begins"),
    ],
)
def test_a_wrong_url_is_one_line(url: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", url]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line


def test_a_folder_without_traces_is_nothing_to_report(
    bucket: MemoryFileSystem, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.pipe("/empty/notes.txt", b"-")
    assert main(["report", "memory://empty"]) == 1
    assert "no traces" in capsys.readouterr().err
