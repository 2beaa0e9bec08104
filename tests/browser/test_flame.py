"""Flame graphs and the pages of single stages: the same numbers as the report's, reached by keyboard and by link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import AFTER, BEFORE, MASK, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, in_stand_in, plain

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Any, lined: Host) -> Iterator[Tab]:
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    tab = Tab(opened, in_stand_in(lined.url))
    tab.find("capture-head").wait_for(timeout=TIMEOUT_MS)
    yield tab
    opened.close()
    assert tab.errors == []


def focused(tab: Tab, name: str) -> str:
    """An attribute of what has the focus; "" where it has none."""
    value = tab.frame.locator("html").evaluate(f"() => document.activeElement?.dataset.{name} ?? ''")
    return str(value)


def tab_to(tab: Tab, test_id: str) -> None:
    for _ in range(80):
        if focused(tab, "testid") == test_id:
            return
        tab.page.keyboard.press("Tab")
    pytest.fail(f"no Tab leads to {test_id}")


def test_the_keyboard_alone_finds_the_hottest_line_of_the_leading_stage(page: Tab) -> None:
    page.open(BEFORE, "overview")
    page.find("tab-overview").focus()
    for _ in range(2):
        page.page.keyboard.press("ArrowRight")
    page.find("stage-table").wait_for(timeout=TIMEOUT_MS)
    tab_to(page, "stage-link")
    while plain(page.frame.locator("html").evaluate("() => document.activeElement.textContent")) != MASK:
        page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.find("stage-page", stage=MASK).wait_for(timeout=TIMEOUT_MS)
    page.find("frame", name="RandomMask.dilate").first.wait_for(timeout=TIMEOUT_MS)
    tab_to(page, "frame")
    page.page.keyboard.press("ArrowDown")
    page.frame.locator("[data-testid=frame][data-name='RandomMask.dilate']:focus").wait_for(timeout=TIMEOUT_MS)
    assert "train.py:41" in page.frame.get_by_role("tooltip").inner_text(timeout=TIMEOUT_MS)
    page.page.keyboard.press("Enter")
    page.find("flame-crumbs").wait_for(timeout=TIMEOUT_MS)
    page.page.keyboard.press("Escape")
    page.find("flame-crumbs").wait_for(state="detached", timeout=TIMEOUT_MS)


def test_a_link_opens_the_same_frame_of_the_same_stage_in_a_fresh_profile(browser: Any, lined: Host) -> None:
    mine = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = Tab(mine.new_page(), in_stand_in(lined.url))
    tab.find("capture-head").wait_for(timeout=TIMEOUT_MS)
    tab.open(BEFORE, "flame")
    tab.find("flame-part").select_option(MASK)
    tab.find("flame-search").fill("scipy")
    tab.find("frame", name="RandomMask.dilate").click()
    tab.find("copy-link").click()
    tab.frame.get_by_role("button", name="Link copied").wait_for(timeout=TIMEOUT_MS)
    address = tab.page.evaluate("navigator.clipboard.readText()")
    mine.close()
    theirs = browser.new_context()
    other = Tab(theirs.new_page(), address)
    other.find("flame", part=MASK).wait_for(timeout=TIMEOUT_MS)
    assert "RandomMask.dilate" in other.find("flame-crumbs").inner_text(timeout=TIMEOUT_MS)
    assert other.find("flame-search").input_value() == "scipy"
    assert other.find("frame", name="convolve2d").get_attribute("data-found") == "true"
    theirs.close()
    assert tab.errors == other.errors == []


def test_frames_and_calls_have_the_numbers_of_the_report(page: Tab, lined: Host) -> None:
    report = lined.reports[BEFORE]
    page.open(BEFORE, "flame")
    page.find("flame", part="pipeline").wait_for(timeout=TIMEOUT_MS)
    tree = report["lines"]["pipeline"]["tree"]
    shown = {one.get_attribute("data-name"): float(one.get_attribute("data-value")) for one in page.find("frame").all()}
    for label, total in zip(tree["label"], tree["total_us"], strict=True):
        assert shown[tree["names"][label]] == total
    page.find("flame-part").select_option(MASK)
    page.find("to-stage").click()
    detail = next(one for one in report["stage_details"] if one["name"] == MASK)
    assert page.number("number-stage-p95") == detail["p95_us"]
    assert [float(one.get_attribute("data-value")) for one in page.find("bin").all()] == detail["histogram"]["calls"]
    starts = [float(row.get_attribute("data-start-us")) for row in page.find("slow-call").all()]
    assert starts == [call["start_us"] for call in detail["slowest"]]


def test_a_slow_call_leads_to_the_timeline_and_back_leads_to_the_stages(page: Tab) -> None:
    page.open(BEFORE, "stages")
    page.frame.locator(f'[data-testid="stage-row"][data-path$="{MASK}"]').click()
    page.find("stage-page").wait_for(timeout=TIMEOUT_MS)
    whole = page.shown_range()
    page.find("slow-call").nth(1).click()
    wait_until(lambda: page.shown_range() != whole, "the timeline goes there", seconds=10)
    start = page.find("slow-call").nth(1).get_attribute("data-start-us")
    shown = page.shown_range()
    assert shown[0] <= float(start) < shown[1]
    assert chosen_call(page) == start
    wait_until(lambda: "call=" in page.page.evaluate("location.href"), "the address has the call", seconds=10)
    page.page.reload()
    page.find("stage-page").wait_for(timeout=TIMEOUT_MS)
    assert chosen_call(page) == start
    page.page.go_back()
    page.find("stage-table").wait_for(timeout=TIMEOUT_MS)


def chosen_call(page: Tab) -> str | None:
    row = page.frame.locator('[data-testid="slow-call"][aria-current="true"]')
    start: str | None = row.get_attribute("data-start-us")
    return start


def test_nothing_is_wider_than_the_screen_in_light_and_dark(browser: Any, lined: Host) -> None:
    for fields in ({"view": "flame"}, {"view": "stages", "stage": MASK}):
        page = browser.new_page(viewport={"width": 390, "height": 900})
        tab = Tab(page, lined.link(capture=BEFORE, **fields))
        for width, theme in ((390, "dark"), (1440, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate("dark => document.body.classList.toggle('dark-mode', dark)", theme == "dark")
            tab.frame.locator(f'html[data-theme="{theme}"]').wait_for(timeout=TIMEOUT_MS, state="attached")
            tab.find("icicle").wait_for(timeout=TIMEOUT_MS)
            html = tab.frame.locator("html")
            assert html.evaluate("page => page.scrollWidth <= window.innerWidth"), f"{fields} at {width} px"
        assert tab.errors == []
        page.close()


def test_a_comparison_shows_which_function_takes_less_time(page: Tab, lined: Host) -> None:
    page.page.goto(lined.link(view="compare", capture=AFTER, before=f"capture:{BEFORE}", after=f"capture:{AFTER}"))
    section = page.find("flame-difference", part="pipeline")
    section.wait_for(timeout=TIMEOUT_MS)
    tone = {
        one.get_attribute("data-name"): one.get_attribute("data-tone") for one in section.get_by_test_id("frame").all()
    }
    assert str(tone["RandomMask.dilate"]).startswith("less-")
    assert tone["ImageFile.load"] == "same"
    assert "sample" in plain(section.inner_text())
