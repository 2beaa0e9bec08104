"""Screenshots of the tab in real TensorBoard; needs Chromium.

    python scripts/screenshots.py URL CAPTURE FOLDER [--views run,ranks] [--widths 390,1440] [--before SIDE ...]
    python scripts/screenshots.py --readme COMPARED --demo DEMO

The first photographs the views of a capture, narrow and wide, light and dark, to judge the page by eye. A side of
Compare is `run:<run>` or `capture:<id>`; without them the page's own suggestion is shown. The second makes the pictures
of the README (`docs/images`) from the real traces in `tests/golden`, those of lines, predictions and headspace from
DEMO, the log directory of `examples/demo.py --photos 600 --batch-size 8 --headspace 20`, and Compare from COMPARED: a
folder in which `benchmarks/compare_power.py --keep` has left captures. What a terminal shows: `terminal_picture.py`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
VIEWS = (
    "overview", "findings", "stages", "flame", "workers", "gaps", "run", "ranks", "compare", "captures", "trace",
)  # fmt: skip
WIDTHS = (390, 1440, 2560)
HEIGHT = 900
README_WIDTH = 1440
SETTLE_MS = 1500
DRAWN_MS = 20_000  # Perfetto does not say when it has drawn all tracks
TENSORBOARD = """
import tensorboard.default, tensorboard.main
installed = tensorboard.default.get_dynamic_plugins
tensorboard.default.get_dynamic_plugins = lambda: [one for one in installed() if "torch_tb" not in one.__module__]
tensorboard.main.run_main()
"""
"""Without the tab of another plugin, which our tests install and users have not."""
HAS_TRACE = "() => location.hash.includes('local_cache_key=') && Boolean(window.app && window.app.trace)"

DEVICE = "gpu/h100_resnet50_workers4"
WORKERS = "demo-train/annotate_workers2"
README = (
    ("overview", DEVICE), ("findings", DEVICE), ("gaps", DEVICE), ("trace", DEVICE),
    ("stages", WORKERS),
)  # fmt: skip
"""View and capture of each picture but that of Compare and of the demo."""

DEMO = ("flame", "workers", "what-if", "headspace")
"""Pictures of the demo's training run."""

FOLDERS = {
    "h100_resnet50_workers4": "gpu",
    "v100_resnet50_workers0": "gpu",
    "v100_resnet50_workers4": "gpu",
    "annotate_workers2": "demo-train",
    "annotate_replay": "demo-replay",
}
"""Of the golden traces that the README shows."""


class Tab:
    """The tab in a window of one width."""

    def __init__(self, browser: Any, url: str, width: int, height: int = HEIGHT) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.goto(f"{url}/#data_pipeline")
        self.frame = self.page.frame_locator("iframe")
        self.frame.locator('[data-testid^="tab-"]').first.wait_for(timeout=30_000)

    def choose(self, capture: str) -> None:
        """By its id, or by how that begins."""
        fold = self.frame.locator('[data-testid="captures-toggle"]')
        if fold.is_visible():
            fold.click()
        self.frame.locator(f'[data-testid="capture-option"][data-id^="{capture}"]').first.click()

    def show(self, view: str, before: str | None = None, after: str | None = None) -> None:
        self.frame.locator(f'[data-testid="tab-{view}"]').click()
        if view == "compare":
            for side, key in (("side-before", before), ("side-after", after)):
                if key is not None:
                    self.frame.locator(f'[data-testid="{side}"]').select_option(key)
            self.frame.locator('[data-testid="compare-sentence"]').wait_for(timeout=30_000)
        if view == "trace":
            self.wait_for_perfetto()
        self.frame.locator('[data-testid="loading-state"]').wait_for(state="detached", timeout=120_000)
        self.page.wait_for_timeout(SETTLE_MS)

    def wait_for_perfetto(self) -> None:
        """Until Perfetto has the trace, where it is installed; by locators, as in `tests/browser/test_tab.py`."""
        sentence = self.frame.locator('[data-testid="trace-sentence"]')
        sentence.wait_for(timeout=30_000)
        if "not installed" in sentence.inner_text():
            return
        root = self.frame.frame_locator('[data-testid="perfetto-frame"]').locator("html")
        for _ in range(600):
            if root.evaluate(HAS_TRACE):
                self.page.wait_for_timeout(DRAWN_MS)
                return
            self.page.wait_for_timeout(200)
        raise TimeoutError("Perfetto has not opened the trace in two minutes")

    def photograph(self, path: Path) -> None:
        self.page.screenshot(path=path)

    def photograph_part(self, name: str, path: Path) -> None:
        """Of the overview: the numbers, with what the loop does without its loader, or the predictions."""
        self.page.set_viewport_size({"width": README_WIDTH, "height": 3200})
        part = self.frame.locator(".numbers").first
        if name == "what-if":
            self.frame.locator('[data-testid="what-if-form"] button[type="submit"]').click()
            self.frame.locator('[data-testid="what-if-table"]').wait_for(timeout=60_000)
            part = self.frame.locator('[data-testid="what-if"]')
        part.screenshot(path=path)


@contextmanager
def chromium() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def every_view(given: argparse.Namespace) -> None:
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for width in given.widths:
            tab = Tab(browser, given.url, width, given.height)
            tab.choose(given.capture)
            for view in given.views:
                tab.show(view, given.before, given.after)
                for theme in ("light", "dark"):
                    tab.page.evaluate("dark => document.body.classList.toggle('dark-mode', dark)", theme == "dark")
                    tab.page.wait_for_timeout(SETTLE_MS)
                    tab.photograph(folder / f"{view}-{width}-{theme}.png")
            tab.page.close()


def readme(compared: Path | None, demo: Path | None, views: tuple[str, ...]) -> None:
    real, measured = [row for row in README if row[0] in views], tuple(name for name in DEMO if name in views)
    if real:
        device_and_workers(real)
    if demo is not None and measured:
        of_the_demo(demo, measured)
    if compared is not None and "compare" in views:
        two_versions(compared)


def of_the_demo(demo: Path, pictures: tuple[str, ...]) -> None:
    with served(demo) as url, chromium() as browser:
        for name in pictures:
            tab = Tab(browser, url, README_WIDTH)
            tab.choose("demo-train/")
            file = ROOT / "docs" / "images" / f"{name}.png"
            if name in VIEWS:
                tab.show(name)
                tab.photograph(file)
            else:
                tab.show("overview")
                tab.photograph_part(name, file)
            tab.page.close()


def device_and_workers(pictures: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        logdir = Path(temporary)
        for name, folder in FOLDERS.items():
            (logdir / folder).mkdir(exist_ok=True)
            file = f"{name}.pt.trace.json.gz"
            shutil.copy(ROOT / "tests" / "golden" / "traces" / file, logdir / folder / file)
        with served(logdir) as url, chromium() as browser:
            for view, capture in pictures:
                tab = Tab(browser, url, README_WIDTH)
                tab.choose(capture)
                tab.show(view)
                tab.photograph(ROOT / "docs" / "images" / f"{view}.png")
                tab.page.close()


def two_versions(compared: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        logdir = Path(temporary)
        for side in ("before", "after"):
            (logdir / side).mkdir()
            for trace in compared.glob(f"{side}*/*.pt.trace.json.gz"):
                shutil.copy(trace, logdir / side / trace.name)
        with served(logdir) as url, chromium() as browser:
            tab = Tab(browser, url, README_WIDTH)
            tab.show("compare", "run:before", "run:after")
            tab.photograph(ROOT / "docs" / "images" / "compare.png")


@contextmanager
def served(logdir: Path) -> Iterator[str]:
    """A TensorBoard that has analysed all captures of `logdir`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", TENSORBOARD, "--logdir", str(logdir), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://localhost:{port}"
        for _ in range(600):
            if is_ready(url):
                break
            time.sleep(0.2)
        else:
            raise TimeoutError(f"TensorBoard has not read {logdir} in two minutes")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # its reloading thread reads to the end of a file first
            process.kill()
            process.wait()


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/data/plugin/data_pipeline/runs", timeout=10) as answer:
            captures = json.load(answer)["captures"]
    except (OSError, ValueError):
        return False
    return bool(captures) and all(capture["state"] == "ready" for capture in captures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", metavar="COMPARED", type=Path)
    parser.add_argument("--demo", metavar="DEMO", type=Path)
    help_only = "of the README's pictures"
    parser.add_argument("--only", metavar="PICTURE", choices=(*VIEWS, *DEMO), nargs="+", help=help_only)
    parser.add_argument("--views", type=lambda text: text.split(","), default=VIEWS, help="default: all")
    parser.add_argument("--widths", type=lambda text: [int(width) for width in text.split(",")], default=WIDTHS)
    parser.add_argument("--height", type=int, default=HEIGHT)
    parser.add_argument("url", nargs="?")
    parser.add_argument("capture", nargs="?")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--before", metavar="SIDE")
    parser.add_argument("--after", metavar="SIDE")
    given = parser.parse_args()
    if given.readme is not None:
        readme(given.readme, given.demo, tuple(given.only or (*VIEWS, *DEMO)))
    elif given.folder is None:
        parser.error("give URL, CAPTURE and FOLDER, or --readme COMPARED")
    else:
        every_view(given)


if __name__ == "__main__":
    main()
