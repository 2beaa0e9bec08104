"""Three tasks by keys alone: the worst gap and its cause, two runs compared, the slowest sample's file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import V100, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, plain

pytestmark = pytest.mark.browser

MOST_STOPS = 90
"""Presses of a key after which nobody would go on."""


def focused(tab: Tab, attribute: str) -> str | None:
    found: str | None = tab.frame.locator("html").evaluate(
        "(_, name) => document.activeElement.getAttribute(name)", attribute
    )
    return found


def begin(tab: Tab) -> None:
    """Into the page: a frame's first stop is the skip link, which leads past captures and tabs."""
    tab.find("skip").focus()


def press_until(tab: Tab, key: str, attribute: str, value: str) -> None:
    """By one key alone, as somebody without a mouse comes there."""
    for _ in range(MOST_STOPS):
        if focused(tab, attribute) == value:
            return
        tab.page.keyboard.press(key)
    raise AssertionError(f"{MOST_STOPS} times {key} do not lead to {attribute}={value}")


def choose(tab: Tab, capture: str, view: str) -> None:
    """A capture out of the list, and a tab: Tab, Enter, arrows."""
    begin(tab)
    press_until(tab, "Tab", "data-testid", "capture-option")
    tab.page.keyboard.press("Home")
    press_until(tab, "ArrowDown", "data-id", capture)
    tab.page.keyboard.press("Enter")
    tab.frame.locator(f'[data-id="{capture}"][aria-current="true"]').wait_for(timeout=TIMEOUT_MS)
    press_until(tab, "Tab", "role", "tab")
    press_until(tab, "ArrowRight", "data-testid", f"tab-{view}")
    tab.page.keyboard.press("Enter")
    tab.frame.locator(f'[data-testid="tab-{view}"][aria-selected="true"]').wait_for(timeout=TIMEOUT_MS)


def worst_gap(tab: Tab, host: Any) -> None:
    choose(tab, V100, "gaps")
    tab.find("gap-row").first.wait_for(timeout=TIMEOUT_MS)
    tab.find("timeline-canvas").wait_for(timeout=TIMEOUT_MS)
    begin(tab)
    press_until(tab, "Tab", "data-testid", "skip-to-table")
    tab.page.keyboard.press("Enter")
    wait_until(lambda: (focused(tab, "aria-label") or "").endswith("show this gap"), "the first row has the focus")
    row = focused(tab, "aria-label")
    for place in ("timeline-canvas", None):
        tab.page.keyboard.press("t")
        wait_until(lambda place=place: focused(tab, "data-testid") == place, "there, and back")
    assert focused(tab, "aria-label") == row
    worst = max(host.reports[V100]["devices"][0]["gaps"], key=lambda gap: float(gap["duration_us"]))
    press_until(tab, "Tab", "data-testid", "shorter-gap")
    tab.page.keyboard.press("Enter")
    press_until(tab, "Shift+Tab", "data-testid", "longer-gap")
    tab.page.keyboard.press("Enter")
    wait_until(lambda: tab.find("gap-detail").get_attribute("data-start-us") == f"{worst['start_us']:g}", "the gap")
    press_until(tab, "Tab", "data-testid", "chain-link")
    assert "idle for" in plain(tab.find("gap-detail").inner_text())
    parts = worst["idle_by_cause_us"]
    assert tab.find("gap-cause").first.get_attribute("data-cause") == max(parts, key=parts.__getitem__)


def two_runs(tab: Tab) -> None:
    choose(tab, "two/demo-train/" + _name(tab, "two/demo-train/"), "compare")
    for side, run in (("side-before", "demo-train/"), ("side-after", "two/demo-train/")):
        press_until(tab, "Tab", "data-testid", side)
        wanted = f"capture:{run}{_name(tab, run)}"
        for _ in range(MOST_STOPS):
            if tab.find(side).input_value() == wanted:
                break
            tab.page.keyboard.press("ArrowDown")
    assert tab.find("compare-sentence").inner_text(timeout=TIMEOUT_MS) != ""
    assert tab.find("side-before").input_value() != tab.find("side-after").input_value()
    assert tab.find("compare-anyway").count() == 0
    tab.find("side-after").select_option(f"capture:{V100}")
    tab.find("compare-anyway").wait_for(timeout=TIMEOUT_MS)
    assert tab.find("number-change").count() == 0
    press_until(tab, "Tab", "data-testid", "compare-anyway")
    tab.page.keyboard.press("Enter")
    tab.find("number-change").wait_for(timeout=TIMEOUT_MS)
    wait_until(
        lambda: "p.data_pipeline.anyway=on" in tab.page.evaluate("location.hash"), "the address says so", seconds=10
    )


def _name(tab: Tab, run: str) -> str:
    ids: list[str] = tab.find("capture-option").evaluate_all("all => all.map((one) => one.dataset.id)")
    return next(one for one in ids if one.startswith(run)).removeprefix(run)


def slowest_sample(tab: Tab, host: Any) -> None:
    capture = "two/demo-train/" + _name(tab, "two/demo-train/")
    choose(tab, capture, "workers")
    tab.find("slow-sample-row").first.wait_for(timeout=TIMEOUT_MS)
    press_until(tab, "Tab", "data-testid", "slow-sample-link")
    row = tab.find("slow-sample-row").first
    slowest = host.reports[capture]["slow_samples"][0]
    assert slowest["files"][0] in row.inner_text()


def test_three_tasks_by_keys_alone(tab: Tab, host: Any) -> None:
    tab.find("verdict").first.wait_for(timeout=TIMEOUT_MS)
    worst_gap(tab, host)
    two_runs(tab)
    slowest_sample(tab, host)
