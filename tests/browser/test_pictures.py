"""Figures saved as pictures: they need nothing of the page, and say what they are of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_html import V100, write
from tests.conftest import GOLDEN
from tests.lines_run import lines_run

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Any) -> Any:
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    yield opened
    opened.close()


def saved(page: Any, name: str) -> str:
    """The figure beside which the menu `name` stands, as SVG."""
    menu = page.locator(f'[data-testid="picture-menu"]:has(summary[aria-label="Save picture: {name}"])')
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.get_by_text("Save as SVG").click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_a_timeline_is_hatched_as_on_screen_and_fine_and_its_overview_is_seen_through_what_is_chosen(
    page: Any, tmp_path: Path
) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri() + "#view=gaps&capture=0")
    page.locator('[data-testid="timeline-canvas"][data-end-us]').wait_for()
    svg = saved(page, "Timeline")
    stripes = re.findall(r'<pattern id="(stripes-\d+)"', svg)
    assert stripes and all(f"url(#{name})" in svg for name in stripes)
    assert re.search(r'<g opacity="0\.5"', svg)  # what the overview of the window marks lies over it
    assert re.search(r">v100_resnet50_workers0 · 6.steps · 1\.05.s</text>", svg)
    sizes = page.evaluate(
        """async (svg) => Promise.all([...new DOMParser().parseFromString(svg, "image/svg+xml")
            .querySelectorAll("image")].map(async (image) => {
                const picture = new Image();
                picture.src = image.getAttribute("href");
                await picture.decode();
                return picture.width / Number(image.getAttribute("width"));
            }))""",
        svg,
    )
    assert len(sizes) == 3 and all(1.9 < ratio < 2.1 for ratio in sizes)


def test_what_is_for_hands_alone_leaves_no_hole(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri() + "#view=overview&capture=0")
    figure = page.locator("figure.step-chart")
    figure.locator("summary", has_text="Steps as a table").click()
    svg = saved(page, "Steps")
    height = float(re.findall(r'<svg[^>]* height="(\d+)"', svg)[0])
    assert height < figure.bounding_box()["height"] - 50
    assert figure.get_attribute("class") == "step-chart"


def test_flame_graphs_and_charts_of_a_stage_are_saved_too(page: Any, tmp_path: Path) -> None:
    trace = tmp_path / "lined.pt.trace.json.gz"
    lines_run(mask_ms=60).write(trace)
    write(tmp_path / "report.html", trace, GOLDEN / "annotate_workers2.pt.trace.json.gz")
    page.goto((tmp_path / "report.html").as_uri() + "#view=flame&capture=0")
    page.get_by_test_id("icicle").wait_for()
    svg = saved(page, "Flame graph: Whole pipeline")
    assert "RandomMask" in svg and svg.count("clip-path=") > 3
    assert ">Flame graph: Whole pipeline</text>" in svg
    page.get_by_test_id("icicle").locator(".frame.named").last.evaluate(
        "one => { one.style.width = '60px'; one.textContent = 'a_name_that_is_too_long_for_its_frame' }"
    )
    assert re.search(r">a_n\w*…</text>", saved(page, "Flame graph: Whole pipeline"))
    page.goto((tmp_path / "report.html").as_uri() + "#view=stages&capture=0")
    page.get_by_test_id("stage-link").first.click()
    page.get_by_test_id("histogram").wait_for()
    name = page.get_by_test_id("stage-page").get_attribute("data-stage")
    for figure in (f"Calls by duration {name}", f"Time per call {name}"):
        assert "lined · " in saved(page, figure)


def test_a_menu_at_the_lower_edge_opens_upwards(page: Any, tmp_path: Path) -> None:
    write(tmp_path / "report.html", V100)
    page.goto((tmp_path / "report.html").as_uri() + "#view=overview&capture=0")
    menu = page.locator('[data-testid="picture-menu"]:has(summary[aria-label="Save picture: Steps"])')
    menu.locator("summary").evaluate(
        "(one) => window.scrollTo(0, scrollY + one.getBoundingClientRect().bottom - innerHeight)"
    )
    menu.locator("summary").click()
    box = menu.locator("ul").bounding_box()
    assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 900
