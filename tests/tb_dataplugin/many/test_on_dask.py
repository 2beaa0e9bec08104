"""A Dask cluster, here of a stand-in for `distributed`: what of its interface is used, with one worker in this process.

`benchmarks/many_ranks.py` uses the real one.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.many import parse_cluster
from tb_dataplugin.many.on_dask import Scheduler
from tests.rank_traces import Spent, captures, write
from tests.tb_dataplugin.many.test_mapping import Worker


class KilledWorker(Exception):
    pass


class Client:
    """`made`: what each was made with, and the text "closed". What a worker says of a version: `version`."""

    made: ClassVar[list[Any]] = []
    version: ClassVar[str | None] = None
    workers: ClassVar[int] = 1
    is_there: ClassVar[bool] = True

    def __init__(self, *where: Any, **how: Any) -> None:
        if not self.is_there:
            raise OSError("Timed out trying to connect to tcp://nowhere:8786 after 20 s")
        self.made.append((*where, how.get("scheduler_file")))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.made.append("closed")

    def wait_for_workers(self, count: int, timeout: float) -> None:
        if self.workers < count:
            raise TimeoutError

    def run_on_scheduler(self, work: Callable[[], str]) -> str:
        return work()

    def run(self, work: Callable[[], str]) -> dict[str, str]:
        return {"tcp://one:1": self.version or work()}

    def get_executor(self, pure: bool) -> Executor:
        assert not pure, "the same file may have changed"
        return Worker(lambda trace: False)


class LocalCluster:
    def __init__(self, **how: Any) -> None:
        self.workers = how["n_workers"]

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *_: object) -> None:
        Client.made.append("ended")

    def __repr__(self) -> str:
        return f"{self.workers} workers"


@pytest.fixture(autouse=True)
def dask(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module: Any = ModuleType("distributed")
    module.Client, module.LocalCluster, module.KilledWorker = Client, LocalCluster, KilledWorker
    monkeypatch.setitem(sys.modules, "distributed", module)
    monkeypatch.setattr(Client, "made", [])
    yield
    logging.getLogger("distributed").setLevel(logging.NOTSET)


@pytest.fixture
def run(tmp_path: Path) -> str:
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("text", "scheduler"),
    [
        ("dask", Scheduler()),
        ("dask://host", Scheduler("tcp://host:8786")),
        ("dask://host:99", Scheduler("tcp://host:99")),
        ("dask://[::1]:99", Scheduler("tcp://[::1]:99")),
        ("dask:///shared/scheduler.json", Scheduler(file="/shared/scheduler.json")),
    ],
)
def test_how_a_cluster_is_named(text: str, scheduler: Scheduler) -> None:
    assert parse_cluster(text) == scheduler


@pytest.mark.parametrize("text", ["spark", "dask://", "ray://", "tcp://host:8786", "https://host"])
def test_what_is_no_cluster_is_refused_with_what_to_write(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["ranks", "x", "--on", text])
    assert "is no cluster: write dask, dask://HOST[:PORT]" in capsys.readouterr().err


def test_a_cluster_says_what_this_machine_says(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["ranks", run], ["report", run], ["report", run, "--format", "markdown"]):
        said = []
        for on in ([], ["--on", "dask://host"]):
            assert main([*words, *(["--format", "json"] if "--format" not in words else []), *on]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]
    assert json.dumps(Client.made) == json.dumps([["tcp://host:8786", None], "closed"] * 3)


def test_without_an_address_a_cluster_is_started_and_ended(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", run, "--on", "dask", "--jobs", "3"]) == 0
    assert "Rank 1 holds up the others" in capsys.readouterr().out
    assert str(Client.made) == "[(3 workers, None), 'closed', 'ended']"


def line_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"is_there": False}, "no Dask scheduler answers at tcp://host:8786 (Timed out"),
        ({"workers": 0}, "has no workers; start some: dask worker tcp://host:8786"),
        ({"version": "0.1.0"}, "tcp://one:1 has tb-dataplugin 0.1.0, and this is"),
    ],
)
def test_a_cluster_that_cannot_do_it_is_one_line(
    facts: dict[str, Any], line: str, run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in facts.items():
        monkeypatch.setattr(Client, name, value)
    assert line in line_of(["ranks", run, "--on", "dask://host"], capsys)


def test_workers_without_us_are_one_line(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'tb_dataplugin'")

    monkeypatch.setattr(Client, "run", fail)
    line = line_of(["report", run, "--on", "dask://host"], capsys)
    assert "cannot run tb-dataplugin (No module named 'tb_dataplugin'); install the same version" in line


def test_without_dask_it_is_said_how_to_get_it(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'tb-dataplugin[dask]'" in line_of(["ranks", run, "--on", "dask"], capsys)


@pytest.mark.parametrize(
    ("more", "line"),
    [(["--on", "dask://host", "--jobs", "2"], "--jobs is for"), (["--on", "dask", "--format", "html"], "no html")],
)
def test_what_does_not_go_together_is_one_line(
    more: list[str], line: str, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in line_of(["report", run, *more], capsys)


def test_a_scheduler_file_that_is_not_there_is_not_waited_for(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no such file" in line_of(["ranks", run, "--on", "dask:///nowhere/scheduler.json"], capsys)
