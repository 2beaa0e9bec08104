"""A real TensorBoard over HTTP: many traces, slow disks, growing files, and an end without warning."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import tensorboard
from tests.trace_builder import training_run

PLUGIN = "data/plugin/data_pipeline"


class Served:
    """A TensorBoard on a free port. `before` runs in it first: it makes disks slow."""

    def __init__(self, logdir: Path, cache: Path | str, before: str = "") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://localhost:{port}"
        environment = {**os.environ, "TB_DATAPLUGIN_CACHE": str(cache)}
        self.process = tensorboard.start("--logdir", logdir, "--port", port, before=before, env=environment)
        until(lambda: self.get("data/environment") is not None, "TensorBoard answers", 60)

    def get(self, path: str, timeout_s: float = 10) -> Any:
        """The JSON there; None when there is no answer (yet)."""
        try:
            with urllib.request.urlopen(f"{self.url}/{path}", timeout=timeout_s) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def captures(self) -> dict[str, dict[str, Any]]:
        return {capture["id"]: capture for capture in (self.get(f"{PLUGIN}/runs") or {"captures": []})["captures"]}

    def states(self) -> list[str]:
        return [capture["state"] for capture in self.captures().values()]

    def children(self) -> list[int]:
        """Processes that it started and that analyse."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and f"PPid:\t{self.process.pid}\n" in read(folder / "status"):
                found += [int(folder.name)] if "analyst.main" in read(folder / "cmdline") else []
        return found

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


def read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""


def until(condition: Callable[[], object], what: str, seconds: float = 60) -> float:
    """Another process is awaited here, so there is a clock to look at. Returns the seconds it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, f"waited {seconds} s in vain until {what}"
        time.sleep(0.05)
    return time.monotonic() - begun


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    served: list[Served] = []

    def start(logdir: Path, cache: Path | str = tmp_path / "cache", before: str = "") -> Served:
        served.append(Served(logdir, cache, before))
        return served[-1]

    yield start
    for one in served:
        if one.process.poll() is None:
            one.stop()


def many(logdir: Path, count: int = 200) -> Path:
    """`count` runs of one capture each, the first the newest, and one bad file among them."""
    content = training_run(steps=6).write(logdir / "seed.json").read_bytes()
    (logdir / "seed.json").unlink()
    for number in range(count):
        path = logdir / f"run{number:03}" / "host_1.pt.trace.json"
        path.parent.mkdir()
        path.write_bytes(content if number != 7 else b"{")
        os.utime(path, (1e9 - number, 1e9 - number))
    return logdir


@pytest.mark.thorough
@pytest.mark.alone
def test_two_hundred_traces(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve(many(tmp_path / "logdir"))
    assert until(lambda: len(served.captures()) == 200, "all are listed", 10) < 1.0
    assert until(lambda: "ready" in served.states(), "the first is ready") < 20
    order = [state for state in served.states() if state != "queued"]
    assert len(order) >= 1 and served.states()[0] in ("ready", "loading")  # newest first
    until(lambda: set(served.states()) == {"ready", "error"}, "all are analysed", 120)
    assert served.captures()["run007/host_1"]["state"] == "error"
    assert len(served.children()) <= 2
    assert served.get(f"{PLUGIN}/report?id=run199/host_1")["captures"][0]["steps"]["count"] == 6
    assert not list((tmp_path / "logdir").rglob("*.capture"))
    served.stop()
    again = serve(tmp_path / "logdir")
    assert until(lambda: again.states().count("ready") == 199, "all come from the cache") < 10


def test_new_and_growing_files_appear_without_a_restart(serve: Callable[..., Served], tmp_path: Path) -> None:
    (tmp_path / "logdir").mkdir()
    (tmp_path / "logdir" / "notes.txt").touch()  # with nothing in it at all we are active, to say what to type
    served = serve(tmp_path / "logdir")
    assert served.get("data/plugins_listing")["data_pipeline"]["enabled"] is False
    content = training_run(steps=9).write(tmp_path / "whole.json").read_bytes()
    growing = (tmp_path / "logdir" / "a.pt.trace.json").open("wb")
    assert until(lambda: served.captures(), "it is listed", 10) < 5
    for start in range(0, len(content), len(content) // 4):
        growing.write(content[start : start + len(content) // 4])
        growing.flush()
        assert "ready" not in served.states()
        time.sleep(0.5)
    growing.close()
    until(lambda: served.states() == ["ready"], "it is analysed", 20)
    assert served.get(f"{PLUGIN}/report?id=a")["captures"][0]["steps"]["count"] == 9
    assert served.get("data/plugins_listing")["data_pipeline"]["enabled"] is True


HANGING = """
import builtins, io, os, time
where, stat = {where!r}, os.stat
def is_there(path):
    try:
        return stat(path) is not None
    except OSError:
        return False
def hanging(real, until_gone):
    def call(path, *arguments, **keywords):
        if str(path) == where or str(path).startswith(where) and '.pt.trace' in str(path):
            while is_there(until_gone):
                time.sleep(0.02)
        return real(path, *arguments, **keywords)
    return call
os.scandir = hanging(os.scandir, {listing!r})
os.stat = hanging(stat, {listing!r})
io.open = builtins.open = hanging(io.open, {reading!r})
"""


def test_a_disk_that_hangs_keeps_nobody_waiting(serve: Callable[..., Served], tmp_path: Path) -> None:
    """First the log directory is not listed, then its traces are not read; a pipe that nobody fills is among them."""
    logdir, listing, reading = many(tmp_path / "logdir", 40), tmp_path / "listing", tmp_path / "reading"
    os.mkfifo(logdir / "pipe.pt.trace.json")
    listing.touch()
    reading.touch()
    served = serve(logdir, before=HANGING.format(where=str(logdir), listing=str(listing), reading=str(reading)))

    def all_answer() -> bool:
        paths = (f"{PLUGIN}/runs", "data/plugins_listing", "data/environment", "data/plugin/scalars/tags")
        return all(served.get(path, timeout_s=60) is not None for path in paths)

    assert all_answer() and served.get(f"{PLUGIN}/runs")["scanning"] is True
    listing.unlink()
    until(lambda: len(served.captures()) == 41, "all are listed")
    assert all_answer() and "ready" not in served.states()
    reading.unlink()
    until(lambda: served.captures()["pipe"]["state"] == "error", "the pipe is refused")
    until(lambda: served.states().count("ready") >= 5, "others are analysed")


def test_no_process_outlives_a_killed_tensorboard(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve(many(tmp_path / "logdir", 100), cache="off")
    until(served.children, "captures are analysed")
    children = served.children()
    served.process.send_signal(signal.SIGKILL)
    served.process.wait()
    until(lambda: not any(read(Path(f"/proc/{pid}/cmdline")) for pid in children), "they end", 10)


def test_two_tensorboards_share_a_cache_that_is_deleted_under_them(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    logdir = many(tmp_path / "logdir", 30)
    both = [serve(logdir), serve(logdir)]
    gone = threading.Event()

    def delete() -> None:
        while not gone.wait(0.2):
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)

    thread = threading.Thread(target=delete, daemon=True)
    thread.start()
    for served in both:
        until(lambda served=served: set(served.states()) == {"ready", "error"}, "all are analysed")  # type: ignore[misc]
    gone.set()
    thread.join()
    for served in both:
        assert served.states().count("error") == 1
        until(lambda served=served: served.get(f"{PLUGIN}/report?id=run003/host_1").get("captures"), "it comes back")  # type: ignore[misc]


@pytest.mark.parametrize("cache", ["off", "/proc/nowhere"])
def test_without_a_usable_cache_the_tab_works_and_leaves_nothing(
    serve: Callable[..., Served], tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    served = serve(many(tmp_path / "logdir", 10), cache)
    until(lambda: served.states().count("ready") == 9, "all are analysed")
    assert served.get(f"{PLUGIN}/timeline?id=run003/host_1&width=500")["lanes"]
    assert len(list((tmp_path / "tmp").glob("tb-dataplugin-*/*.capture"))) == 9
    served.stop()
    until(lambda: not list((tmp_path / "tmp").glob("tb-dataplugin-*")), "the folder is gone", 10)
