"""Real TensorBoard, real captures, Debian's Chromium."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.tab import Tab, in_stand_in
from tests.conftest import GOLDEN
from tests.gpu_run import sawtooth_run
from tests.lines_run import lines_run
from tests.support import tensorboard, warm

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
V100 = "gpu/v100_resnet50_workers0"
SAWTOOTH = "sawtooth/built"
BEFORE, AFTER = "before/run", "after/run"
MASK = "transform::RandomMask"


@pytest.fixture(scope="session", autouse=True)
def _chromium_is_there() -> None:
    if CHROMIUM is None:
        message = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)


@dataclass(frozen=True)
class Host:
    """A TensorBoard that serves `logdir`, and what the command line says of the same captures."""

    url: str
    logdir: Path
    reports: dict[str, dict[str, Any]]

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=30) as answer:
            return json.load(answer)

    def is_ready(self) -> bool:
        captures = self.get("data/plugin/data_pipeline/runs")["captures"]
        return bool(captures) and all(capture["state"] == "ready" for capture in captures)

    def link(self, **fields: str) -> str:
        place = "&".join(f"p.data_pipeline.{name}={text}" for name, text in fields.items())
        return in_stand_in(f"{self.url}/#data_pipeline&{place}")


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded once, also where several processes test; nobody writes there."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    root, done = shared / "logdir", shared / "logdir.done"
    with (shared / "logdir.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _record(root)
            done.touch()
    return root


def _record(root: Path) -> None:
    """Live captures of the demo, without and with DataLoader workers; a trace of a real GPU and a built one."""
    sizes = [
        "--photos",
        "48",
        "--batch-size",
        "4",
        "--batches",
        "3",
        "--data",
        str(root / ".data"),
        "--no-gpu-captures",
    ]
    # With workers more steps than batches are prefetched: the window could else end before one is made in it.
    for logdir, workers, steps in ((root, "0", "4"), (root / "two", "2", "9")):
        counts = ["--workers", workers, "--steps", steps]
        command = [sys.executable, "examples/demo.py", "--logdir", str(logdir), *sizes, *counts]
        warm.run(command, cwd=ROOT).check_returncode()
    (root / "gpu").mkdir()
    shutil.copy(GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz", root / "gpu")
    sawtooth_run().write(root / f"{SAWTOOTH}.pt.trace.json.gz")


def serve(logdir: Path, *options: str, all_plugins: bool = False) -> Iterator[str]:
    """Runs TensorBoard on a free port until the caller is done; `all_plugins`: by its own command, as users do."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["--logdir", str(logdir), "--port", str(port), *options]
    process: subprocess.Popen[bytes] | warm.Program
    if all_plugins:
        command = [str(Path(sys.executable).with_name("tensorboard")), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        process = tensorboard.start(*arguments)
    try:
        url = f"http://localhost:{port}"
        wait_until(lambda: bool(fetch(f"{url}/data/environment")), "TensorBoard answers")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # its reloading thread reads to the end of a file first
            process.kill()
            process.wait()


def fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            content: bytes = answer.read()
            return content
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return b""


def wait_until(condition: Any, what: str, seconds: float = 90) -> None:
    """Another process is awaited here, so there is a clock to look at."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def host(logdir: Path) -> Iterator[Host]:
    yield from _hosted(logdir)


@pytest.fixture(scope="session")
def lined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Two captures with sampled stacks; masking takes less time in the second."""
    logdir: Path = tmp_path_factory.mktemp("lined")
    lines_run(mask_ms=60).write(logdir / f"{BEFORE}.pt.trace.json.gz")
    lines_run(mask_ms=12).write(logdir / f"{AFTER}.pt.trace.json.gz")
    yield from _hosted(logdir)


def _hosted(logdir: Path) -> Iterator[Host]:
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "report", str(logdir), "--format", "json"]
    captures = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["captures"]
    for url in serve(logdir):
        found = Host(url, logdir, {capture["name"]: capture for capture in captures})
        wait_until(found.is_ready, "all captures are analysed")
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def _worn_page(browser: Any) -> Any:
    return browser.new_page()


@pytest.fixture
def page(_worn_page: Any, host: Host) -> Iterator[Any]:
    """One for all tests, with nothing of the test before: a renderer that knows our code shows it in half the time."""
    _worn_page.set_viewport_size({"width": 1400, "height": 900})
    _worn_page.mouse.move(0, 0)
    yield _worn_page
    _worn_page.goto("about:blank")
    tools = _worn_page.context.new_cdp_session(_worn_page)
    tools.send("Storage.clearDataForOrigin", {"origin": host.url, "storageTypes": "all"})
    tools.detach()


@pytest.fixture
def tab(page: Any, host: Host) -> Iterator[Tab]:
    """Our page in a frame, as in TensorBoard, whose own page takes seconds of CPU to open."""
    opened = Tab(page, in_stand_in(host.url))
    yield opened
    opened.leave()
    assert opened.errors == []


@pytest.fixture
def tab_in_tensorboard(page: Any, host: Host) -> Iterator[Tab]:
    """Our page in TensorBoard's."""
    opened = Tab(page, host.url)
    yield opened
    opened.leave()
    assert opened.errors == []
