"""The timeline under a mouse: the page keeps its wheel, Ctrl zooms, a drag moves, a drag over the times selects."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest

from tests.browser.conftest import V100, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab

pytestmark = pytest.mark.browser

GUTTER_PX = 152


def over_the_plot(tab: Tab) -> Any:
    """The canvas, on screen, with the pointer in the middle of it."""
    canvas = tab.find("timeline-canvas")
    tab.shown_range()
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return box


def scrolled(tab: Tab) -> float:
    return float(tab.frame.locator("html").evaluate("() => window.scrollY"))


def test_a_plain_wheel_scrolls_the_page_and_says_once_how_to_zoom(tab: Tab) -> None:
    tab.open(V100, "gaps")
    over_the_plot(tab)
    whole, top = tab.shown_range(), scrolled(tab)
    tab.page.mouse.wheel(0, 150)
    wait_until(lambda: scrolled(tab) > top, "the page scrolls", seconds=10)
    assert tab.shown_range() == whole
    assert "zooms the timeline" in tab.find("wheel-hint").inner_text(timeout=TIMEOUT_MS)
    tab.find("wheel-hint").wait_for(state="detached", timeout=TIMEOUT_MS)
    tab.page.mouse.wheel(0, -150)
    wait_until(lambda: scrolled(tab) <= top, "the page scrolls back", seconds=10)
    assert tab.find("wheel-hint").count() == 0


def test_ctrl_and_wheel_zoom_around_the_pointer_and_the_page_stays(tab: Tab) -> None:
    tab.open(V100, "gaps")
    over_the_plot(tab)
    (start, end), top = tab.shown_range(), scrolled(tab)
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -200)
    tab.page.keyboard.up("Control")
    wait_until(lambda: tab.shown_range() != (start, end), "the timeline zooms", seconds=10)
    left, right = tab.shown_range()
    assert start < left < right < end
    assert scrolled(tab) == top


def test_a_drag_moves_and_a_drag_over_the_times_zooms_to_them(tab: Tab) -> None:
    tab.open(V100, "gaps")
    box = over_the_plot(tab)
    start, end = tab.shown_range()
    mouse, plot = tab.page.mouse, box["width"] - GUTTER_PX
    ruler = tab.find("timeline-ruler").bounding_box()["y"] + 10
    mouse.move(box["x"] + GUTTER_PX + plot / 4, ruler)
    mouse.down()
    mouse.move(box["x"] + GUTTER_PX + plot / 2, ruler, steps=4)
    chosen = float(tab.find("timeline-canvas").get_attribute("data-selecting-us"))
    assert chosen == pytest.approx((end - start) / 4, rel=0.02)
    mouse.up()
    wait_until(lambda: tab.shown_range() != (start, end), "the timeline zooms", seconds=10)
    left, right = tab.shown_range()
    assert right - left == pytest.approx(chosen, rel=0.01)
    assert left == pytest.approx(start + (end - start) / 4, abs=(end - start) / 100)
    box = over_the_plot(tab)
    mouse.down()
    mouse.move(box["x"] + GUTTER_PX + plot / 4, box["y"] + box["height"] / 2, steps=4)
    mouse.up()
    moved = tab.shown_range()
    assert moved[0] > left and moved[1] - moved[0] == pytest.approx(right - left, rel=1e-6)


def test_a_search_opens_the_folded_lane_that_it_leads_to(tab: Tab) -> None:
    option = tab.frame.locator('[data-testid="capture-option"][data-id^="two/demo-train/"]')
    tab.open(option.get_attribute("data-id", timeout=TIMEOUT_MS), "workers")
    tab.find("lanes-batches").click()
    folded = over_the_plot(tab)["height"]
    wait_until(lambda: len(turned(tab)) == 2, "the address has both lanes", seconds=10)
    both = turned(tab)
    count, canvas, search = tab.find("span-count"), tab.find("timeline-canvas"), tab.find("span-search")
    search.fill("transform::")
    wait_until(lambda: "some in folded lanes" in "".join(count.all_inner_texts()), "it says where", seconds=10)
    search.press("Enter")
    wait_until(lambda: canvas.bounding_box()["height"] > folded, "its lane opens", seconds=10)
    opened = canvas.get_attribute("data-marked")
    assert opened in both
    wait_until(lambda: turned(tab) == both - {opened}, "the address has the other one only", seconds=10)


def turned(tab: Tab) -> set[str]:
    """Lanes that were turned over by hand, as the address has them."""
    (lanes,) = [text for text in tab.page.evaluate("location.hash").split("&") if ".lanes=" in text] or [""]
    return set(unquote(lanes.partition("=")[2]).split(",")) - {""}
