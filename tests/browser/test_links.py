"""Links to a place of the page: copied, opened by somebody else, and gone back to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.browser.conftest import SAWTOOTH, V100, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(tab_in_tensorboard: Tab) -> Tab:
    return tab_in_tensorboard


def shown(tab: Tab) -> tuple[str, str]:
    """The capture and the view that the page shows."""
    capture = tab.frame.locator('[data-testid="capture-option"][aria-current="true"]').get_attribute("data-id")
    view = tab.frame.locator('[role="tab"][aria-selected="true"]').get_attribute("id")
    return str(capture), str(view).removeprefix("tab-")


def wait_for(tab: Tab, capture: str, view: str) -> None:
    wait_until(lambda: shown(tab) == (capture, view), f"{capture} is shown in {view}", seconds=10)


def go_back(tab: Tab, is_there: Callable[[], bool]) -> None:
    """Back, as often as somebody presses it who wants to be there.

    TensorBoard replaces the entry that it comes to, which can call a way back off just then, and may put one of its own
    on top. So Back is asked for again, but only after the page has stood still in a place that is not the one.
    """
    passed = [tab.page.url]
    for _ in range(6):
        tab.page.go_back()
        with suppress(AssertionError):
            wait_until(is_there, "Back leads to where we were", seconds=8)
            return
        passed.append(tab.page.url)
    pytest.fail(f"Back never leads to where we were: {passed}")


def test_a_copied_link_opens_the_same_gap_at_the_same_zoom_in_a_fresh_profile(browser: Any, host: Host) -> None:
    gap = host.reports[V100]["devices"][0]["gaps"][2]
    mine = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = Tab(mine.new_page(), host.url)
    tab.open(V100, "gaps")
    whole = tab.shown_range()
    tab.find("gap-row").nth(2).locator("button").click()
    wait_until(lambda: tab.shown_range() != whole, "the timeline zooms", seconds=10)
    tab.find("copy-link").click()
    tab.frame.get_by_role("button", name="Link copied").wait_for(timeout=TIMEOUT_MS)
    link = tab.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{host.url}/#data_pipeline&p.data_pipeline.view=gaps&")
    zoomed = tab.shown_range()
    mine.close()

    theirs = browser.new_context()
    page = theirs.new_page()
    other = Tab(page, link)
    wait_for(other, V100, "gaps")
    assert other.shown_range() == pytest.approx(zoomed, abs=0.001)
    assert float(other.find("gap-detail").get_attribute("data-start-us")) == gap["start_us"]
    theirs.close()
    assert tab.errors == other.errors == []


def test_back_and_forward_go_through_views_and_captures(tab: Tab) -> None:
    tab.open(V100, "gaps")
    wait_for(tab, V100, "gaps")
    tab.open(SAWTOOTH, "stages")
    wait_for(tab, SAWTOOTH, "stages")
    tab.page.go_back()
    wait_for(tab, SAWTOOTH, "gaps")
    tab.page.go_back()
    wait_for(tab, V100, "gaps")
    tab.page.go_forward()
    wait_for(tab, SAWTOOTH, "gaps")
    assert "p.data_pipeline.capture=sawtooth%2Fbuilt" in tab.page.url


def test_back_leads_to_where_the_page_was_scrolled_to_and_a_tab_to_the_top(tab: Tab) -> None:
    top = tab.frame.locator("html")
    tab.open(V100, "gaps")
    tab.find("gap-row").nth(20).locator("button").wait_for(timeout=TIMEOUT_MS)
    left_at = top.evaluate("() => { scrollTo(0, 900); return scrollY; }")
    tab.find("tab-stages").click()
    wait_for(tab, V100, "stages")
    wait_until(lambda: top.evaluate("() => scrollY") == 0, "another view begins at its top")
    tab.page.go_back()
    wait_for(tab, V100, "gaps")
    wait_until(lambda: top.evaluate("() => scrollY") == left_at > 0, "Back leads to where the page was left")
    tab.find("tab-stages").click()
    tab.find("tab-gaps").click()
    wait_until(lambda: top.evaluate("() => scrollY") == 0, "a tab leads to the top")


def is_ours(url: str) -> bool:
    return "#data_pipeline" in url and "view=stages" in url


def test_another_tab_of_tensorboard_keeps_our_place_and_we_keep_its_settings(tab: Tab) -> None:
    tab.open(V100, "stages")
    wait_until(lambda: "view=stages" in tab.page.url, "the address follows", seconds=10)
    tab.page.evaluate("location.hash = location.hash.replace('data_pipeline', 'timeseries') + '&smoothing=0.5'")
    tab.page.wait_for_url("**/#timeseries*")
    tab.page.evaluate("location.hash = location.hash.replace('timeseries', 'data_pipeline')")
    wait_for(tab, V100, "stages")
    tab.find("tab-gaps").click()
    wait_until(lambda: "view=gaps" in tab.page.url, "the address follows", seconds=10)
    assert "&smoothing=0.5" in tab.page.url
    go_back(tab, lambda: is_ours(tab.page.url))
    wait_for(tab, V100, "stages")  # who goes back looks at where that led before the next time
    go_back(tab, lambda: "#timeseries" in tab.page.url)
    go_back(tab, lambda: is_ours(tab.page.url))  # TensorBoard may have added its settings to it
    wait_for(tab, V100, "stages")


def test_a_page_that_stands_alone_keeps_its_place_in_its_own_address(browser: Any, host: Host) -> None:
    page = browser.new_page()
    page.goto(f"{host.url}/data/plugin_entry.html?name=data_pipeline#view=gaps&capture=gpu%2Fv100_resnet50_workers0")
    page.get_by_test_id("gap-table").wait_for(timeout=TIMEOUT_MS)
    page.get_by_test_id("tab-stages").click()
    assert "#view=stages&capture=gpu%2Fv100_resnet50_workers0" in page.url
    page.go_back()
    page.get_by_test_id("gap-table").wait_for(timeout=TIMEOUT_MS)
    page.close()
