"""The report as one HTML file, opened from disk: its numbers are the command line's, and it asks nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import wait_until
from tests.browser.tab import plain
from tests.conftest import GOLDEN

pytestmark = pytest.mark.browser

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
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "report", *map(str, traces)]
    subprocess.run([*command, "--format", "html", "-o", str(target)], check=True, capture_output=True)
    told: dict[str, Any] = json.loads(
        subprocess.run([*command, "--format", "json"], check=True, capture_output=True).stdout
    )
    return told


def test_every_view_of_a_file_that_lies_on_disk(page: Any, tmp_path: Path) -> None:
    [report] = write(tmp_path / "report.html", V100)["captures"]
    page.goto((tmp_path / "report.html").as_uri())
    page.get_by_test_id("verdict").wait_for()
    assert plain(page.get_by_test_id("verdict").inner_text()) == report["verdict"]["sentence"]
    assert float(page.get_by_test_id("number-idle").get_attribute("data-value")) == report["devices"][0]["idle_us"]
    for view in ("stages", "workers", "compare", "trace"):
        page.get_by_test_id(f"tab-{view}").click()
        page.get_by_test_id("unavailable-state").wait_for()
    assert page.get_by_test_id("refresh").count() == 0


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


def test_several_captures_in_one_file(page: Any, tmp_path: Path) -> None:
    other = GOLDEN / "torch2_13_cpu_workers2.pt.trace.json.gz"
    reports = write(tmp_path / "report.html", V100, other)["captures"]
    page.goto((tmp_path / "report.html").as_uri())
    for option, report in zip(page.get_by_test_id("capture-option").all(), reports, strict=True):
        option.click()
        wait_until(
            lambda report=report: plain(page.get_by_test_id("verdict").inner_text()) == report["verdict"]["sentence"],
            "the other capture is shown",
            seconds=15,
        )
