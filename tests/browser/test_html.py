"""The report as one HTML file, opened from disk: its numbers are the command line's, and it asks nobody."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import wait_until
from tests.browser.tab import plain
from tests.conftest import GOLDEN
from tests.trace_builder import training_run

pytestmark = pytest.mark.browser

VIEWS = ("overview", "findings", "stages", "flame", "workers", "gaps", "run", "ranks", "captures")

V100 = GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz"


@pytest.fixture
def page(browser: Any) -> Any:
    """A page that must neither fail nor ask for anything but its own file."""
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    errors: list[str] = []
    asked: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda entry: errors.append(entry.text) if entry.type == "error" else None)
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    opened.close()
    assert errors == []
    assert len(asked) == 1 and asked[0].startswith("file://")


def write(target: Path, *traces: Path) -> dict[str, Any]:
    """What the command line says of `traces`, and the file that it makes of them."""
    page, told = _written(traces)
    target.write_bytes(page)
    return told


@functools.cache
def _written(traces: tuple[Path, ...]) -> tuple[bytes, dict[str, Any]]:
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "report", *map(str, traces)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        subprocess.run([*command, "--format", "html", "-o", str(file)], check=True, capture_output=True)
        told: dict[str, Any] = json.loads(
            subprocess.run([*command, "--format", "json"], check=True, capture_output=True).stdout
        )
        return file.read_bytes(), told


def test_every_view_of_a_file_that_lies_on_disk(page: Any, tmp_path: Path) -> None:
    [report] = write(tmp_path / "report.html", V100)["captures"]
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("verdict").wait_for()
    assert plain(page.get_by_test_id("verdict").inner_text()) == report["verdict"]["sentence"]
    assert float(page.get_by_test_id("number-idle").get_attribute("data-value")) == report["devices"][0]["idle_us"]
    tabs = [tab.get_attribute("id") for tab in page.get_by_role("tab").all()]
    assert tabs == [f"tab-{view}" for view in VIEWS]  # no dead ones
    empty = [tab.get_attribute("id") for tab in page.locator('[role="tab"].empty').all()]
    assert empty == [f"tab-{view}" for view in ("stages", "flame", "workers", "run", "ranks")]
    for view in ("stages", "workers"):
        page.get_by_test_id(f"tab-{view}").click()
        page.get_by_test_id("unavailable-state").wait_for()
    assert page.get_by_test_id("refresh").count() == 0
    assert page.locator('[data-testid="capture-option"] time[datetime^="1970"]').count() == 0


PRINTED = """() => {
    window.dispatchEvent(new Event("beforeprint"));
    const views = [...document.querySelectorAll(".printed")].map((view) => view.dataset.testid);
    const canvas = document.querySelector(".printed canvas");
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const theme = document.documentElement.dataset.theme;
    const nothing = document.querySelector('[data-testid="printed-nothing"]').textContent;
    const waiting = document.querySelectorAll(".printed .progress").length;
    window.dispatchEvent(new Event("afterprint"));
    const after = document.querySelectorAll(".printed").length;
    return { views, nothing, theme, waiting, inked: pixels.some((value) => value > 0), after };
}"""


PRINTED_TEXT = """() => {
    window.dispatchEvent(new Event("beforeprint"));
    const told = Object.fromEntries([...document.querySelectorAll(".printed section")].map(
        (section) => [section.querySelector("h2")?.innerText ?? "", section.innerText]));
    window.dispatchEvent(new Event("afterprint"));
    return told;
}"""


def test_all_views_are_printed_with_their_pictures_on_white_paper(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.emulate_media(color_scheme="dark")
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("verdict").wait_for()
    told = page.evaluate(PRINTED)
    assert told["views"] == [f"printed-{view}" for view in ("overview", "findings", "gaps", "captures", "nothing")]
    assert told["nothing"].startswith("Nothing to show") and "Stages: " in told["nothing"]
    assert (told["theme"], told["inked"], told["waiting"], told["after"]) == ("light", True, 0, 0)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert len(page.pdf()) > 20_000


def test_the_same_is_printed_whatever_view_is_on_screen(browser: Any, tmp_path: Path, thorough: bool) -> None:
    write(tmp_path / "report.html", GOLDEN / "annotate_workers2.pt.trace.json.gz")
    printed = {}
    for view in VIEWS if thorough else ("overview", "gaps", "run"):
        page = browser.new_page()
        page.emulate_media(media="print")
        page.goto(f"{(tmp_path / 'report.html').as_uri()}#view={view}")
        page.get_by_test_id("capture-option").first.wait_for(state="attached")
        printed[view] = page.evaluate(PRINTED_TEXT)
        page.close()
    assert "with a 90% interval" in printed["overview"]["What if"]
    assert {view for view, told in printed.items() if told != printed["overview"]} == set()


def test_no_table_of_settings_is_printed_over_its_neighbour(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", GOLDEN / "annotate_workers2.pt.trace.json.gz")
    page.set_viewport_size({"width": 700, "height": 1000})
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("settings").wait_for()
    page.emulate_media(media="print")
    wider = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid="settings"] table')].map(
            table => table.getBoundingClientRect().width - table.parentElement.getBoundingClientRect().width)"""
    )
    assert len(wider) == 3 and max(wider) < 1


def test_links_that_lead_to_other_views_are_not_printed(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri())
    link = page.get_by_test_id("all-findings")
    link.wait_for()
    page.emulate_media(media="print")
    assert not link.is_visible()
    assert page.locator("#findings-title").is_visible()


def test_a_trend_is_of_the_captures_that_the_tab_has_it_of(page: Any, tmp_path: Path) -> None:
    """Of traces without a time of their own by those in names, in milliseconds too, else by those of the files."""
    for name, number in (("h_1.1700000000000", 0), ("h_1.1700000600000", 0), ("a", 1), ("b", 2)):
        path = tmp_path / ("stamped" if number == 0 else "plain") / f"{name}.pt.trace.json"
        path.parent.mkdir(exist_ok=True)
        training_run().write(path)
        os.utime(path, (1_750_000_000 + 60 * number,) * 2)
    write(tmp_path / "report.html", tmp_path)
    page.goto((tmp_path / "report.html").as_uri() + "#view=captures")
    for run in ("stamped", "plain"):
        page.get_by_test_id("run-choice").select_option(run)
        page.get_by_role("heading", name=f"Trend: {run}").wait_for()


def test_a_link_to_a_place_in_a_file_opens_there(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri() + "#view=gaps&capture=0&from_us=1000&to_us=2000")
    canvas = page.locator('[data-testid="timeline-canvas"][data-end-us]')
    canvas.wait_for()
    assert float(canvas.get_attribute("data-start-us")) == pytest.approx(1000)
    page.get_by_test_id("tab-stages").click()
    assert page.url.endswith("#view=stages&capture=0&from_us=1000&to_us=2000")
    page.go_back()
    canvas.wait_for()


def test_a_link_to_a_view_that_needs_a_server_says_so(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri() + "#view=trace&capture=0")
    note = page.get_by_test_id("view-needs-server")
    assert plain(note.inner_text()) == "Trace needs TensorBoard: it is in the tab, not in this file."
    page.get_by_test_id("tab-stages").click()
    note.wait_for(state="detached")


def test_captures_of_one_program_are_compared_in_the_file_and_on_paper(page: Any, tmp_path: Path) -> None:
    before, after = V100, GOLDEN / "v100_resnet50_workers4.pt.trace.json.gz"
    other = GOLDEN / "alexnet_no_steps.pt.trace.json.gz"
    write(tmp_path / "report.html", before, after, other)
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "compare", str(before), str(after)]
    told = subprocess.run([*command, "--format", "json"], check=True, capture_output=True).stdout
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("tab-compare").click()
    assert "no comparison of this capture" in page.get_by_test_id("unavailable-state").inner_text()
    page.locator(".captures").get_by_text("v100_resnet50_workers0").click()
    assert plain(page.get_by_test_id("compare-sentence").inner_text()) == json.loads(told)["sentence"]
    assert page.get_by_test_id("carried-pair").locator("option").all_inner_texts() == [
        "v100_resnet50_workers0 → v100_resnet50_workers4"
    ]
    page.get_by_test_id("tab-overview").click()

    def has_comparison() -> bool:
        return "printed-compare" in page.evaluate(PRINTED)["views"]

    wait_until(has_comparison, "its comparison is printed", seconds=15)
    page.locator(".captures").get_by_text("alexnet_no_steps").click()
    wait_until(lambda: not has_comparison(), "a comparison of two others is not", seconds=15)


def test_the_carried_timeline_zooms(page: Any, tmp_path: Path) -> None:
    [report] = write(tmp_path / "report.html", V100)["captures"]
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("tab-gaps").click()
    canvas = page.locator('[data-testid="timeline-canvas"][data-end-us]')
    canvas.wait_for()
    gap = report["devices"][0]["gaps"][0]
    page.get_by_test_id("gap-row").first.locator("button").first.click()

    def shown() -> float:
        return float(canvas.get_attribute("data-end-us")) - float(canvas.get_attribute("data-start-us"))

    wait_until(lambda: shown() < 4 * gap["duration_us"], "the timeline zooms to the gap", seconds=15)


def share_lost(report: dict[str, Any]) -> float:
    """What of the window the device was idle; without a device, the data wait."""
    lost = [device["idle_us"] for device in report["devices"]] or [report["loader"]["wait_us"]]
    return float(sum(lost)) / len(lost) / float(report["window_us"])


def test_several_captures_in_one_file(page: Any, tmp_path: Path) -> None:
    other = GOLDEN / "torch2_13_cpu_workers2.pt.trace.json.gz"
    reports = write(tmp_path / "report.html", V100, other)["captures"]
    page.goto((tmp_path / "report.html").as_uri())
    options = page.get_by_test_id("capture-option").all()
    assert len(options) == len(reports)
    lost = [share_lost(reports[int(str(one.get_attribute("data-id")))]) for one in options]
    assert lost == sorted(lost, reverse=True) and options[0].get_attribute("aria-current") == "true"
    for option in options:
        report = reports[int(str(option.get_attribute("data-id")))]
        option.click()
        wait_until(
            lambda report=report: plain(page.get_by_test_id("verdict").inner_text()) == report["verdict"]["sentence"],
            "the other capture is shown",
            seconds=15,
        )


def test_few_captures_have_whole_sentences_and_each_of_many_three_lines(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100, GOLDEN / "annotate_workers2.pt.trace.json.gz")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto((tmp_path / "report.html").as_uri() + "#view=captures")
    rows = page.get_by_test_id("capture-row")
    rows.first.wait_for()
    cut = "table => [...table.querySelectorAll('p')].filter(one => one.scrollHeight > one.clientHeight).length"
    assert page.get_by_test_id("row-table").evaluate(cut) == 0
    page.get_by_test_id("row-table").evaluate("table => table.classList.add('rows-cut')")  # as with many
    heights = {row.get_by_test_id("row-doubt").count(): row.bounding_box()["height"] for row in rows.all()}
    assert heights[0] < 70 and heights[1] < 88, "a long name, below it the moment, and the doubt"
    verdict = rows.last.locator("td.words").first
    assert verdict.inner_text().startswith("The device is idle for 44.0%")
    assert rows.last.get_by_test_id("row-doubt").inner_text() == "doubtful: few steps"
    assert verdict.get_attribute("title") in plain(verdict.inner_text())
    page.set_viewport_size({"width": 1920, "height": 900})
    table = page.get_by_test_id("row-table").bounding_box()
    assert table["x"] + table["width"] > 1920 - 40, "sentences have the width that is there"
    assert page.get_by_test_id("row-table").evaluate(cut) == 0
