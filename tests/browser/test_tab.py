"""The tab in real TensorBoard, in a real browser: every view is visited, its numbers are the command line's."""

from __future__ import annotations

import functools
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tb_dataplugin.words import OUTCOMES, label_of
from tests.browser.conftest import V100, Host, serve, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, plain

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(tab_in_tensorboard: Tab) -> Tab:
    return tab_in_tensorboard


def live(host: Host, mode: str, workers: int = 0) -> tuple[str, dict[str, Any]]:
    return next(
        (name, report)
        for name, report in host.reports.items()
        if report["mode"] == mode and report["loader"]["num_workers"] == workers
    )


def test_the_overview_of_a_gpu_trace(tab: Tab, host: Host) -> None:
    report = host.reports[V100]
    tab.open(V100, "overview")
    assert plain(tab.find("verdict").inner_text(timeout=TIMEOUT_MS)) == report["verdict"]["sentence"]
    assert tab.number("number-idle") == report["devices"][0]["idle_us"] == 461_335
    assert tab.number("number-data-wait") == report["loader"]["wait_us"] == 415_791
    assert tab.number("number-exposed-wait") == report["loader"]["exposed_wait_us"] == 355_571
    assert tab.number("number-step-mean") == report["steps"]["mean_us"]
    assert tab.find("step-bar").count() == report["steps"]["count"] == 6
    rules = [item.get_attribute("data-rule") for item in tab.find("finding").all()]
    assert rules == [finding["rule"] for finding in report["findings"]][:3]


def test_the_overview_of_a_live_capture(tab: Tab, host: Host) -> None:
    name, report = live(host, "train")
    tab.open(name, "overview")
    assert tab.number("number-data-wait") == report["loader"]["wait_us"]
    assert tab.number("number-throughput") == report["throughput"]["samples_per_s"]
    stages = report["loader"]["wait_by_stage_us"]
    assert max(stages, key=stages.__getitem__) in tab.find("verdict").inner_text()
    unknown = tab.find("number-idle").first
    assert unknown.get_attribute("data-value") is None  # no device: unknown, not 0
    bars = tab.find("step-bar").all()
    assert [float(bar.get_attribute("data-value-us")) for bar in bars] == [
        step["duration_us"] for step in report["steps"]["items"]
    ]


@pytest.mark.one_of(2)
@pytest.mark.parametrize("mode", ["train", "replay"])
def test_the_stages_of_a_live_capture(tab: Tab, host: Host, mode: str) -> None:
    name, report = live(host, mode)
    tab.open(name, "stages")
    tab.find("stage-row").first.wait_for(timeout=TIMEOUT_MS)
    shown = {
        row.get_attribute("data-path"): {
            cell.get_attribute("data-column"): cell.get_attribute("data-value-us") or cell.get_attribute("data-value")
            for cell in row.locator("td[data-column]").all()
        }
        for row in tab.find("stage-row").all()
    }
    assert len(shown) == len(report["stages"]) > 8
    by_figures = {
        (float(cells["count"]), float(cells["total_us"]), float(cells["self_us"])) for cells in shown.values()
    }
    assert by_figures == {(row["count"], row["total_us"], row["self_us"]) for row in report["stages"]}


def test_the_idle_gaps_of_a_gpu_trace(tab: Tab, host: Host) -> None:
    device = host.reports[V100]["devices"][0]
    tab.open(V100, "gaps")
    assert tab.number("number-gaps-idle") == device["idle_us"]
    assert tab.number("number-gap-count") == device["gap_count"] == 7_739
    assert tab.number("number-longest-gap") == device["longest_gap_us"] == 69_076
    rows = tab.find("gap-row").all()
    shown = [(float(row.get_attribute("data-start-us")), float(row.get_attribute("data-duration-us"))) for row in rows]
    assert shown == [(gap["start_us"], gap["duration_us"]) for gap in device["gaps"][: len(rows)]]


def test_a_click_on_a_gap_zooms_there_and_a_key_zooms_out(tab: Tab, host: Host) -> None:
    report = host.reports[V100]
    gap = report["devices"][0]["gaps"][1]
    tab.open(V100, "gaps")
    shown = tab.shown_range
    whole = shown()
    assert whole[1] - whole[0] == pytest.approx(report["window_us"], rel=0.05)
    row = tab.find("gap-row").nth(1)
    row.locator("button").first.click() if row.locator("button").count() else row.click()
    wait_until(lambda: shown() != whole, "the timeline zooms")
    start, end = shown()
    assert start <= gap["start_us"] and end >= gap["start_us"] + gap["duration_us"]
    assert end - start < 3 * gap["duration_us"]
    tab.find("timeline-canvas").focus()
    tab.page.keyboard.press("0")
    wait_until(lambda: shown() == whole, "the timeline shows the whole window again", seconds=10)


def test_a_capture_without_a_device_says_why_there_are_no_gaps(tab: Tab, host: Host) -> None:
    name, report = live(host, "train")
    tab.open(name, "gaps")
    reason = next(one["message"] for one in report["diagnostics"] if one["code"] == "no_device_activity")
    assert reason.lower() in tab.find("unavailable-state").inner_text(timeout=TIMEOUT_MS).lower()


def test_the_workers_of_a_live_capture(tab: Tab, host: Host) -> None:
    name, report = live(host, "train", workers=2)
    tab.open(name, "workers")
    tab.find("worker-row").first.wait_for(timeout=TIMEOUT_MS)
    shown = {
        int(row.get_attribute("data-worker")): {
            cell.get_attribute("data-column"): cell.get_attribute("data-value-us")
            for cell in row.locator("td[data-column]").all()
        }
        for row in tab.find("worker-row").all()
    }
    assert sorted(shown) == [worker["worker"] for worker in report["workers"]] == [0, 1]
    for worker in report["workers"]:
        cells = shown[worker["worker"]]
        assert float(cells["busy_us"]) == worker["busy_us"]
        assert float(cells["starved_us"]) == worker["starved_us"]
    assert tab.find("batch-row").count() == min(12, report["batch_count"]) >= 4
    indices = [int(row.get_attribute("data-index")) for row in tab.find("slow-sample-row").all()]
    assert indices == [sample["index"] for sample in report["slow_samples"]]
    assert tab.find("timeline-canvas").count() == 1


def test_the_stages_of_a_run_with_workers_stand_beside_its_replay(tab: Tab, host: Host) -> None:
    name, report = live(host, "train", workers=2)
    mask = next(stage for stage in report["stages"] if stage["label"] == "RandomMask")
    assert mask["replay_ratio"] > 0
    tab.open(name, "stages")
    row = tab.find("stage-row").filter(has_text="RandomMask").first
    row.wait_for(timeout=TIMEOUT_MS)
    assert mask["blame_us"] == float(row.locator('td[data-column="blame_us"]').get_attribute("data-value-us"))


def test_two_captures_are_compared_as_on_the_command_line(tab: Tab, host: Host) -> None:
    (before, _), (after, _) = live(host, "train", workers=0), live(host, "train", workers=2)
    tab.open(after, "compare")
    tab.find("side-before").select_option(f"capture:{before}")
    sentence = tab.find("compare-sentence")
    files = [host.reports[name]["file"] for name in (before, after)]
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "compare", *files, "--format", "json"]
    typed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    wait_until(lambda: sentence.count() and plain(sentence.inner_text()) == typed["sentence"], "the sides are compared")
    assert tab.number("number-before") == typed["time"]["before_us"]
    assert tab.number("number-after") == typed["time"]["after_us"]
    shown = [row.get_attribute("data-stage") for row in tab.find("stage-change").all()]
    assert shown == [stage["name"] for stage in typed["stages"]]
    intervals = [plain(cell.inner_text()) for cell in tab.find("interval").all()]
    waits = [part for part in typed["parts"] if part["kind"] == "data_wait_by_stage"]
    assert {(part["outcome"], part["interval_text"]) for part in waits} == {("unknown", "needs repeated runs")}
    said_once = [words.inner_text() for words in tab.find("common-words").all()]
    assert any("unknown, needs repeated runs" in words for words in said_once)
    kinds = ("part", "stage")
    rows = sorted(
        (
            row
            for row in [*typed["parts"], *typed["stages"]]
            if row not in waits
            and not (row["name"].startswith("rest:") and len(said_once) > 1)  # where no samples fell there
        ),
        key=lambda row: kinds.index(row["kind"]),
    )
    assert intervals == [
        "–" if row["outcome"] == "too_short" else plain(row["interval_text"].split("; ")[0]) for row in rows
    ]
    changed = {row.get_attribute("data-setting"): row.inner_text() for row in tab.find("setting-change").all()}
    assert list(changed) == [setting["name"] for setting in typed["settings"]]
    assert all(setting["title"] in changed[setting["name"]] for setting in typed["settings"])
    outcomes = [row.locator("td").last.inner_text() for row in tab.find("stage-change").all()]
    assert outcomes == [label_of(OUTCOMES, stage["outcome"]) for stage in typed["stages"]]


class Perfetto(NamedTuple):
    """Perfetto's page with the trace of a report in it, and what was asked of the network."""

    page: Any
    report: dict[str, Any]
    outside: list[str]


@pytest.fixture(scope="module")
def perfetto(browser: Any, host: Host) -> Iterator[Perfetto]:
    """It takes seconds to open: once for all tests of it."""
    name, report = live(host, "train", workers=2)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    outside: list[str] = []
    page.on("requestfailed", lambda request: outside.append(f"{request.failure} {request.url}"))
    page.on("requestfinished", lambda request: outside.append(f"finished {request.url}"))
    tab = Tab(page, host.url)
    outside.clear()  # TensorBoard's own page
    tab.open(name, "trace")
    yield Perfetto(perfetto_with_trace(tab), report, outside)
    page.close()


def test_the_trace_opens_in_perfetto_offline(perfetto: Perfetto, host: Host) -> None:
    left = [line for line in perfetto.outside if not line.split(" ")[1].startswith((host.url, "data:", "blob:"))]
    assert [line for line in left if not line.startswith("csp ")] == []  # refused by the page's policy: never sent


PERFETTO_COUNTS = """async () => {
    const engine = window.app.trace.engine;
    const lost = await engine.query(
        "select count(*) as n from stats where value > 0 and severity in ('error', 'data_loss')");
    const spans = await engine.query("select count(*) as n from slice where dur >= 0 and category is not null");
    const workers = await engine.query("select count(*) as n from process where name glob 'DataLoader worker *'");
    return [lost, spans, workers].map((result) => Number(result.firstRow({n: 0}).n));
}"""


def perfetto_with_trace(tab: Tab) -> Any:
    """The root element of Perfetto's page once its engine has the trace.

    By locators: Playwright's list of frames loses this one now and then.
    """
    page = tab.frame.frame_locator('[data-testid="perfetto-frame"]').locator("html")
    shown = "() => location.hash.includes('local_cache_key=') && Boolean(window.app && window.app.trace)"
    wait_until(lambda: page.evaluate(shown), "Perfetto has the trace", seconds=60)
    return page


def test_perfetto_takes_every_span_of_every_worker(perfetto: Perfetto) -> None:
    report = perfetto.report
    lost, spans, workers = perfetto.page.evaluate(PERFETTO_COUNTS)
    assert workers == len(report["workers"]) == 2
    written = json.loads(gzip.decompress(Path(report["file"]).read_bytes()))["traceEvents"]
    assert lost == 0
    assert spans >= sum(event["ph"] == "X" for event in written) > 100


def test_one_step_back_leaves_perfetto(browser: Any, host: Host) -> None:
    """Whatever addresses its frame goes through; and one leads over it."""
    name, _ = live(host, "train", workers=2)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    tab = Tab(page, host.url)
    tab.open(name, "stages")
    steps = page.evaluate("history.length")
    tab.find("tab-trace").click()
    perfetto_with_trace(tab)
    assert page.evaluate("history.length") == steps + 1
    tab.find("tab-findings").click()
    for view in ("trace", "stages"):
        page.evaluate("history.back()")
        tab.frame.locator(f'[data-testid="tab-{view}"][aria-selected="true"]').wait_for(timeout=TIMEOUT_MS)
    page.close()


def test_dark_mode_follows_tensorboard(tab: Tab, host: Host) -> None:
    tab.open(V100, "overview")
    tab.find("verdict").wait_for(timeout=TIMEOUT_MS)

    def background() -> str:
        return str(tab.frame.locator("html").evaluate("page => getComputedStyle(page).backgroundColor"))

    light = background()
    tab.page.evaluate("document.body.classList.add('dark-mode')")
    wait_until(lambda: background() != light, "the page turns dark", seconds=10)


def test_an_empty_log_directory_opens_with_what_to_type(browser: Any, tmp_path: Path) -> None:
    for url in serve(tmp_path):
        page = browser.new_page(viewport={"width": 800, "height": 900})
        tab = Tab(page, f"{url}/#")
        page.wait_for_url("**/#data_pipeline*", timeout=TIMEOUT_MS)
        text = tab.find("empty-state").inner_text(timeout=TIMEOUT_MS)
        assert "annotate.profile" in text and str(tmp_path) in text
        tab.find("empty-code").wait_for(timeout=TIMEOUT_MS)
        page.close()
        assert tab.errors == []


def test_the_old_profiler_tab_lists_the_same_run(host: Host, tmp_path: Path) -> None:
    pytest.importorskip("torch_tb_profiler")
    name, report = live(host, "train")
    run = name.split("/")[0]
    (tmp_path / run).mkdir()
    shutil.copy(report["file"], tmp_path / run)
    for url in serve(tmp_path, all_plugins=True):
        both = Host(url, tmp_path, {})
        theirs = functools.partial(both.get, "data/plugin/pytorch_profiler/runs")
        wait_until(lambda theirs=theirs: run in theirs()["runs"], "torch_tb_profiler lists the run")
        assert [one["id"] for one in both.get("data/plugin/data_pipeline/runs")["captures"]] == [name]
        assert both.get("data/plugins_listing")["data_pipeline"]["tab_name"] == "Data Pipeline"
