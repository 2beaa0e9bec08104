"""Log directories behind URLs: fsspec's file system in memory, and storages that are slow or fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from werkzeug.test import Client

from tb_dataplugin.cache import Store
from tb_dataplugin.cli import main
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.remote import RemoteTrace, Storage, Url
from tb_dataplugin.tb import remote_dirs
from tb_dataplugin.tb.logdirs import logdirs_of
from tb_dataplugin.tb.plugin import DataPipelinePlugin
from tb_dataplugin.tb.runs import CaptureLibrary
from tests.tb_dataplugin.tb.test_plugin import BASE, HereAnalyst
from tests.tb_dataplugin.test_watchfile import RUN, interval
from tests.trace_builder import training_run

NAME = "h.pt.trace.json"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    files.pipe({f"/runs/exp/{NAME}": training_run().json(), "/runs/notes.txt": b"-"})
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


class Host:
    """TensorBoard with that log directory; the library's threads do not run: tests say when it works."""

    def __init__(self, cache: Path, logdir: str = "memory://runs") -> None:
        from tensorboard.backend import application

        self.passed_s = 0.0
        context = SimpleNamespace(logdir=logdir)
        self.library = CaptureLibrary(logdirs_of(context))
        (self.remote,) = self.library.remote
        self.remote._now = lambda: self.passed_s
        self.library.start = lambda: None  # type: ignore[method-assign]
        self.plugin = DataPipelinePlugin(context, self.library)
        self.client = Client(application.TensorBoardWSGI([self.plugin]))
        self.analyst = HereAnalyst(Store(cache))

    def work(self, fetch: bool = True) -> None:
        self.remote.look()
        while fetch and self.remote.fetch_next():
            pass
        self.library.scan()
        while self.library.analyse_next(self.analyst):
            pass

    def get(self, path: str) -> tuple[int, Any]:
        answer = self.client.get(BASE + path)
        return answer.status_code, json.loads(answer.get_data())

    def states(self) -> list[str]:
        return [capture["state"] for capture in self.get("runs")[1]["captures"]]


@pytest.fixture
def host(bucket: MemoryFileSystem, tmp_path: Path) -> Host:
    return Host(tmp_path / "cache")


def test_a_remote_capture_is_listed_then_fetched_and_equals_the_command_lines_json(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.work(fetch=False)
    assert host.states() == ["queued"] and host.plugin.is_active()
    assert host.get("report?id=exp/h") == (202, {"state": "queued"})
    host.work()
    assert main(["report", "memory://runs", "--format", "json"]) == 0
    assert host.get("report?id=exp/h") == (200, json.loads(capsys.readouterr().out))
    with host.client.get(BASE + "trace?id=exp/h") as answer:
        assert answer.get_data() == training_run().json()


def test_the_tab_is_there_until_a_storage_has_said_that_it_has_nothing_for_it(
    host: Host, bucket: MemoryFileSystem
) -> None:
    assert host.plugin.is_active()
    bucket.rm(f"/runs/exp/{NAME}")
    host.work()
    assert not host.plugin.is_active()
    host.remote._open = failing(UnreadableTrace("memory://runs", "permission denied", "check your credentials"))
    host.work()
    assert host.plugin.is_active()


def test_requests_are_answered_before_the_storage_was_ever_asked(host: Host) -> None:
    assert host.get("runs")[1] | {"perfetto": None} == {
        "logdir": "memory://runs", "scanning": True, "perfetto": None, "whole_runs": 0, "rank_runs": 0,
        "captures": [], "problems": [], "repeated_runs": [], "mixed_runs": [],
    }  # fmt: skip
    host.library.scan()
    assert host.get("runs")[1]["scanning"] is True
    host.work()
    assert host.get("runs")[1]["scanning"] is False


def failing(error: Exception) -> Callable[[Url], Storage]:
    def fail(url: Url) -> Storage:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UnreadableTrace("memory://runs", "permission denied", "check your credentials"), "permission denied; check"),
        (KeyError("x"), "listing memory://runs failed: KeyError: 'x'"),
    ],
)
def test_a_storage_that_fails_is_one_line_and_hides_nothing_that_was_there(
    host: Host, error: Exception, line: str
) -> None:
    host.work()
    host.remote._open = failing(error)
    host.work()
    (problem,) = host.get("runs")[1]["problems"]
    assert line in problem and "\n" not in problem
    assert host.states() == ["ready"]
    host.remote._open = Storage
    host.work()
    assert host.get("runs")[1]["problems"] == []


def test_a_storage_that_is_slow_is_one_line_and_shows_what_it_has_said_so_far(host: Host) -> None:
    class Slow(Storage):
        def files(self, suffixes: tuple[str, ...]) -> Iterator[RemoteTrace]:
            yield from super().files(suffixes)
            host.passed_s += 11
            host.library.scan()
            (problem,) = host.get("runs")[1]["problems"]
            assert problem == "memory://runs is slow: it is being listed for 11.0 s; 1 file found so far"
            assert host.states() == ["queued"]

    host.remote._open = Slow
    host.work()
    assert host.get("runs")[1]["problems"] == [] and host.states() == ["ready"]


def test_a_file_that_cannot_be_fetched_is_one_line_and_tried_again_when_it_is_opened(
    host: Host, bucket: MemoryFileSystem
) -> None:
    class Cut(Storage):
        def blocks(self, trace: RemoteTrace) -> Iterator[bytes]:
            raise UnreadableTrace(str(trace.url), "10 of its 20 bytes came", "try again")

    host.remote._open = Cut
    host.passed_s = 1.0
    host.work()
    code, answer = host.get("report?id=exp/h")
    assert (code, answer["error"]) == (
        422, f"cannot read memory://runs/exp/{NAME}: 10 of its 20 bytes came; try again",
    )  # fmt: skip
    host.remote._open = Storage
    host.work()
    assert host.states() == ["error"], "not before some time has passed"
    host.passed_s += remote_dirs.RETRY_AFTER_S
    assert host.get("report?id=exp/h")[0] == 422
    host.work()
    assert host.get("report?id=exp/h")[0] == 200


def test_a_file_that_changed_is_fetched_again_and_one_that_is_gone_goes(host: Host, bucket: MemoryFileSystem) -> None:
    host.work()
    bucket.pipe(f"/runs/exp/{NAME}", training_run(7).json())
    host.work()
    assert host.get("report?id=exp/h")[1]["captures"][0]["steps"]["count"] == 7
    bucket.rm(f"/runs/exp/{NAME}")
    host.work()
    assert host.states() == []


def test_what_was_fetched_before_is_not_fetched_again(host: Host, tmp_path: Path) -> None:
    host.work()
    again = Host(tmp_path / "cache")
    again.work(fetch=False)
    assert again.states() == ["ready"]


def test_more_than_so_many_bytes_are_fetched_for_those_only_who_ask(
    host: Host, bucket: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_dirs, "AHEAD_BYTES", len(training_run().json()))
    time.sleep(0.001)
    bucket.pipe(f"/runs/newer/{NAME}", training_run().json())
    host.work()
    assert host.states() == ["ready", "queued"]
    assert host.get("report?id=exp/h")[0] == 202
    host.work()
    assert host.states() == ["ready", "ready"]


def test_whole_runs_are_shown_and_grow(host: Host, bucket: MemoryFileSystem) -> None:
    lines = [json.dumps(line) + "\n" for line in (RUN, interval(0), interval(1))]
    bucket.pipe("/runs/exp/a.watch.jsonl", "".join(lines[:2]).encode())
    host.work()
    assert host.get("runs")[1]["whole_runs"] == 1
    (run,) = host.get("whole_runs")[1]["runs"]
    assert (run["run"], len(run["points"])) == ("exp", 1)
    bucket.pipe("/runs/exp/a.watch.jsonl", "".join(lines).encode())
    host.work(fetch=False)
    assert len(host.get("whole_runs")[1]["runs"][0]["points"]) == 1
    host.work()
    assert len(host.get("whole_runs")[1]["runs"][0]["points"]) == 2


def test_without_a_cache_files_go_where_tensorboard_cleans_up(
    bucket: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", "off")
    host = Host(tmp_path / "cache")
    assert host.library.roots == (host.library.spare / "remote",)
    assert not host.library.spare.exists(), "nothing is written before it is needed"


def test_local_and_remote_folders_stand_beside_each_other(bucket: MemoryFileSystem, tmp_path: Path) -> None:
    training_run().write(tmp_path / "logs" / "here" / NAME)
    context = SimpleNamespace(
        logdir="", flags=SimpleNamespace(logdir="", logdir_spec=f"far:memory://runs,near:{tmp_path}/logs")
    )
    library = CaptureLibrary(logdirs_of(context))
    library.remote[0].look()
    library.scan()
    assert {entry.id for entry in library.listing().entries} == {"far/exp/h", "near/here/h"}
