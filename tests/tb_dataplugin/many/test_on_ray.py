"""Ray: the real one where it is installed; what is said where it is not, or does not answer."""

from __future__ import annotations

import builtins
import importlib.util
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.many import map_traces, parse_cluster
from tb_dataplugin.many.on_ray import RayCluster, ray_engine
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.remote import Source
from tests.rank_traces import Spent, captures, write

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture
def run(tmp_path: Path) -> str:
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("text", "cluster"),
    [
        ("ray", RayCluster()),
        ("ray://head", RayCluster("ray://head:10001")),
        ("ray://head:99", RayCluster("ray://head:99")),
    ],
)
def test_how_a_cluster_is_named(text: str, cluster: RayCluster) -> None:
    assert parse_cluster(text) == cluster


def test_without_ray_one_line_says_what_to_install(
    run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["ranks", run, "--on", "ray"]) == 2
    assert "Ray is not installed; pip install 'tb-dataplugin[ray]'" in capsys.readouterr().err


@needs_ray
def test_a_cluster_of_this_machine_says_what_one_process_says(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for on in ([], ["--on", "ray", "--jobs", "2"]):
        assert main(["ranks", run, "--format", "json", *on]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


@needs_ray
def test_a_trace_that_kills_its_worker_costs_its_own_row() -> None:
    def kills_itself(trace: Source) -> str:  # in here it is pickled whole: no worker could import this file
        if trace.name == "bad":
            os.kill(os.getpid(), signal.SIGKILL)
        return trace.name

    traces = [TraceFile(Path(name), "run", name, 0, 0) for name in ("one", "bad", "two")]
    with ray_engine(RayCluster(), 2) as engine:
        found = map_traces(traces, kills_itself, engine, failed)
    assert found == ["one", "UnreadableTrace", "two"]


def failed(error: Exception) -> str:
    assert isinstance(error, UnreadableTrace) and "was killed, twice" in str(error)
    return type(error).__name__
