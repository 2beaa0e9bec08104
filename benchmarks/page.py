"""How fast the page is, in Debian's Chromium and a real TensorBoard: paint, pan and zoom, memory, many captures.

    python benchmarks/page.py [--events 1000000] [--captures 200] [--switches 200] [--piece frames|memory|captures]

Times are of this machine; the targets stand beside them. Needs a quiet machine and Chromium. TensorBoard runs without
torch_tb_profiler, which starts a process of its own for every capture.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.grow_trace import grow  # noqa: E402
from tests.browser.conftest import CHROMIUM, FLAGS, Host, serve, wait_until  # noqa: E402
from tests.browser.tab import Tab  # noqa: E402

GOLDEN: Final = ROOT / "tests" / "golden" / "traces"
SMALL: Final = "v100_resnet50_workers4.pt.trace.json.gz"
OTHER: Final = "annotate_workers2.pt.trace.json.gz"
BIG: Final = "big/grown"
MANY: Final = "many"
FRAMES: Final = 120
PIECES: Final = ("frames", "memory", "captures")
SMALLER: Final = 100_000
"""Events of the large capture where only switching to it is measured."""

FIRST_DRAWN: Final = """
new MutationObserver((_, observer) => {
  if (document.querySelector('[data-testid="verdict"], [data-testid="capture-row"]') === null) return;
  observer.disconnect();
  requestAnimationFrame(() => { window.firstDrawn = performance.now(); });
}).observe(document, { childList: true, subtree: true });
"""
"""When our frame first shows what was asked for, in milliseconds since TensorBoard began to load it."""

TIMED_CLICK: Final = """
async (element) => {
  const began = performance.now();
  element.click();
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  return performance.now() - began;
}
"""
"""From a click to the end of the frame that shows what it did, in milliseconds."""

TIMED_FRAMES: Final = """
window.frameTimes = [];
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (paint) => next((now) => {
  const began = performance.now();
  paint(now);
  window.frameTimes.push(performance.now() - began);
});
"""
"""Times what the page does in each frame that it asks for."""


def main() -> int:
    options = _parser().parse_args()
    if CHROMIUM is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    wanted = PIECES if options.piece is None else (options.piece,)
    print(f"load average {os.getloadavg()[0]:.1f} before, {os.cpu_count()} CPUs\n")
    if PIECES[0] in wanted:
        print("| what | measured | target |")
        print("|-|-|-|")
        _row("page, gzipped", f"{_page_bytes() / 1e3:.0f} kB", "250 kB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        logdir = Path(folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        if {"frames", "memory"} & set(wanted):
            events = _grown(logdir, options.events if "frames" in wanted else SMALLER)
            with _served(logdir) as host:
                if "frames" in wanted:
                    _one_capture(browser, host, events)
                if "memory" in wanted:
                    _switches(browser, host, options.switches)
        if "captures" in wanted:
            with _served(_full(logdir, options.captures)) as host:
                _many_captures(browser, host)
        browser.close()
    print(f"\nload average {os.getloadavg()[0]:.1f} after")
    return 0


def _full(logdir: Path, captures: int) -> Path:
    for number in range(captures):
        place = logdir / MANY / f"run_{number:03}"
        place.mkdir(parents=True)
        shutil.copy(GOLDEN / OTHER, place)
    return logdir / MANY


def _row(what: str, measured: str, target: str) -> None:
    print(f"| {what} | {measured} | {target} |", flush=True)


def _page_bytes() -> int:
    static = ROOT / "tb_dataplugin" / "static"
    return sum(len(gzip.compress(path.read_bytes())) for path in (static / "index.js", static / "index.css"))


def _grown(logdir: Path, events: int) -> int:
    """A capture of about so many events, and a small one to switch to; how many it has."""
    (logdir / "big").mkdir()
    small = gzip.decompress((GOLDEN / SMALL).read_bytes()).count(b'"ph"')
    copies = max(1, round(events / small))
    grow(GOLDEN / SMALL, logdir / f"{BIG}.pt.trace.json.gz", copies)
    shutil.copy(GOLDEN / OTHER, logdir)
    return small * copies


@contextmanager
def _served(logdir: Path) -> Iterator[Host]:
    """TensorBoard with our plugin alone, once it has analysed everything."""
    with contextmanager(serve)(logdir) as url:
        host = Host(url, logdir, {})
        began = time.monotonic()
        wait_until(host.is_ready, "all captures are analysed", seconds=600)
        _row("all captures analysed", f"{time.monotonic() - began:.0f} s", "")
        yield host


def _one_capture(browser: Any, host: Host, events: int) -> None:
    link = f"{host.url}/#data_pipeline&p.data_pipeline.view=overview&p.data_pipeline.capture={BIG.replace('/', '%2F')}"
    paints, before = _paints(browser, link, "verdict", 5)
    _row("TensorBoard's own page, until it loads our frame", f"{before:.2f} s", "")
    _row(f"verdict since then, {events:,} events, cached", f"{paints:.2f} s", "1 s")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(TIMED_FRAMES)
    tab = Tab(page, link.replace("view=overview", "view=gaps"))
    tab.shown_range()
    for what, times in (("zoom", _zoomed(tab)), ("pan", _panned(tab))):
        middle, late = statistics.median(times), sorted(times)[int(0.95 * len(times))]
        _row(f"{what}, {len(times)} frames: script per frame", f"median {middle:.1f}, p95 {late:.1f} ms", "8, 16 ms")
    page.close()


def _paints(browser: Any, link: str, test_id: str, times: int) -> tuple[float, float]:
    """Seconds until our frame shows something, and until TensorBoard began to load that frame: medians, fresh pages."""
    ours, before = [], []
    for _ in range(times):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(FIRST_DRAWN)
        began = time.monotonic()
        tab = Tab(page, link)
        tab.find(test_id).first.wait_for()
        drawn = tab.frame.locator("html").evaluate(
            "async () => { while (!window.firstDrawn) "
            "await new Promise(requestAnimationFrame); return window.firstDrawn; }"
        )
        ours.append(drawn / 1e3)
        before.append(time.monotonic() - began - ours[-1])
        page.close()
    return statistics.median(ours), statistics.median(before)


def _zoomed(tab: Tab) -> list[float]:
    _over_the_plot(tab)
    _wheel(tab, [-40 if number % 40 < 20 else 40 for number in range(FRAMES)])
    return _frame_times(tab)


def _wheel(tab: Tab, turns: list[int]) -> None:
    tab.page.keyboard.down("Control")
    for turn in turns:
        tab.page.mouse.wheel(0, turn)
    tab.page.keyboard.up("Control")


def _panned(tab: Tab) -> list[float]:
    """Inside of what is shown: a whole window cannot be moved."""
    x, y = _over_the_plot(tab)
    _wheel(tab, [-40] * 15)
    _frame_times(tab)
    tab.page.mouse.down()
    for number in range(FRAMES):
        tab.page.mouse.move(x + 3 * (number % 60), y)
    tab.page.mouse.up()
    return _frame_times(tab)


def _over_the_plot(tab: Tab) -> tuple[float, float]:
    canvas = tab.find("timeline-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    return x, y


def _frame_times(tab: Tab) -> list[float]:
    """Of the frames since the last call; at least one, or there is nothing to say."""
    times: list[float] = tab.frame.locator("html").evaluate("() => window.frameTimes.splice(0)")
    return times or [float("nan")]


def _switches(browser: Any, host: Host, count: int) -> None:
    """Memory after so many changes of capture, beside that after the first ten."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    tab = Tab(page, host.url)
    session = page.context.new_cdp_session(page)
    names = (BIG, OTHER.partition(".")[0])
    used, took = {}, []
    for number in range(count):
        began = time.monotonic()
        tab.open(names[number % 2], "overview")
        took.append(time.monotonic() - began)
        if number in (9, count - 1):
            session.send("HeapProfiler.collectGarbage")
            metrics = {entry["name"]: entry["value"] for entry in _metrics(session)}
            used[number] = (metrics["JSHeapUsedSize"] / 1e6, int(metrics["Nodes"]))
    (first, nodes), (last, nodes_then) = used[min(used)], used[max(used)]
    _row(
        f"memory after 10 and {count} switches",
        f"{first:.1f}, {last:.1f} MB; {nodes:,}, {nodes_then:,} nodes",
        "no leak",
    )
    _row("a switch, with the driver", f"median {statistics.median(took):.2f} s", "")
    page.close()


def _metrics(session: Any) -> Any:
    session.send("Performance.enable")
    return session.send("Performance.getMetrics")["metrics"]


def _many_captures(browser: Any, host: Host) -> None:
    for route in ("runs", "captures"):
        _row(f"answer of `{route}`", f"{1e3 * _answering(host, route):.0f} ms", "")
    count = len(host.get("data/plugin/data_pipeline/runs")["captures"])
    link = f"{host.url}/#data_pipeline&p.data_pipeline.view=captures"
    paints, before = _paints(browser, link, "capture-row", 3)
    _row("TensorBoard's own page, until it loads our frame", f"{before:.2f} s", "")
    _row(f"all captures, {count} of them: table since then", f"{paints:.2f} s", "1 s")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    tab = Tab(page, link)
    tab.find("capture-row").first.wait_for()
    heads = tab.frame.locator('[data-testid="row-table"] thead button')
    clicks = [heads.nth(column).evaluate(TIMED_CLICK) for column in range(heads.count()) for _ in range(3)]
    _row("their table sorted, until it is drawn", f"median {statistics.median(clicks):.0f} ms", "100 ms")
    page.close()


def _answering(host: Host, route: str) -> float:
    """Seconds, of five answers the median."""
    took = []
    for _ in range(5):
        began = time.monotonic()
        host.get(f"data/plugin/data_pipeline/{route}")
        took.append(time.monotonic() - began)
    return statistics.median(took)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000, help="of the large capture")
    parser.add_argument("--captures", type=int, default=200, help="of the full log directory")
    parser.add_argument("--switches", type=int, default=200, help="between two captures")
    help_piece = "only this part of the table, in less than three minutes: for a machine that others wait for"
    parser.add_argument("--piece", choices=PIECES, help=help_piece)
    return parser


if __name__ == "__main__":
    sys.exit(main())
