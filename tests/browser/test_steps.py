"""Some steps only: chosen on the page, said on it, in its link, and by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SAWTOOTH, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, in_stand_in, plain

pytestmark = pytest.mark.browser

STEPS = "&p.data_pipeline.view=overview&p.data_pipeline.capture=sawtooth%2Fbuilt&p.data_pipeline.steps="


def reported(host: Host, steps: str) -> dict[str, Any]:
    path = host.logdir / f"{SAWTOOTH}.pt.trace.json.gz"
    command = [str(Path(sys.executable).with_name("tb-dataplugin")), "report", str(path), "--steps", steps]
    done = subprocess.run([*command, "--format", "json"], check=True, capture_output=True)
    capture: dict[str, Any] = json.loads(done.stdout)["captures"][0]
    return capture


def test_dragging_over_the_bars_chooses_their_steps_and_back_leads_to_all(tab: Tab, host: Host) -> None:
    tab.open(SAWTOOTH, "overview")
    whole = tab.number("number-data-wait")
    bars = tab.find("step-bar")
    bars.first.wait_for(timeout=TIMEOUT_MS)
    tab.find("step-chart").scroll_into_view_if_needed()
    first, last = (bars.nth(number).bounding_box() for number in (3, 10))
    tab.page.mouse.move(first["x"] + 5, first["y"] + first["height"] - 20)
    tab.page.mouse.down()
    tab.page.mouse.move(last["x"] + 5, last["y"] + last["height"] - 20, steps=4)
    assert tab.find("step-band").text_content() == "steps 4 to 11"
    tab.page.mouse.up()
    tab.find("selection").wait_for(timeout=TIMEOUT_MS)
    expected = reported(host, "4..11")
    assert tab.number("number-data-wait") == pytest.approx(expected["loader"]["wait_us"])
    assert tab.number("number-idle") == pytest.approx(expected["devices"][0]["idle_us"])
    assert plain(tab.find("selection").text_content()).startswith(expected["selection"]["sentence"])
    tab.page.go_back()
    wait_until(lambda: tab.number("number-data-wait") == whole, "the numbers are of all steps again", seconds=10)


def test_a_link_to_some_steps_shows_them_in_every_view(browser: Any, host: Host) -> None:
    expected = reported(host, "4..11")
    page = browser.new_page()
    tab = Tab(page, in_stand_in(f"{host.url}/#data_pipeline{STEPS}4..11"))
    tab.find("selection").wait_for(timeout=TIMEOUT_MS)
    tab.find("tab-gaps").click()
    assert tab.find("selection").is_visible()
    start = expected["window_start_us"]
    assert tab.shown_range() == pytest.approx((start, start + expected["window_us"]), abs=0.001)
    tab.find("tab-compare").click()
    assert "Compare is about whole captures." in tab.find("selection").text_content()
    page.close()
    assert tab.errors == []


def test_the_keyboard_chooses_steps_and_goes_back_to_all(tab: Tab) -> None:
    tab.open(SAWTOOTH, "overview")
    tab.find("step-first").focus()
    for key in ("Control+a", "5", "Tab", "Control+a", "9", "Enter"):
        tab.page.keyboard.press(key)
    tab.find("selection").wait_for(timeout=TIMEOUT_MS)
    assert tab.frame.locator('[data-testid="step-bar"]:not(.dim)').count() == 5
    tab.find("all-steps").first.focus()
    tab.page.keyboard.press("Enter")
    dimmed = tab.frame.locator('[data-testid="step-bar"].dim')
    wait_until(lambda: dimmed.count() == 0, "all steps count", seconds=10)
    assert tab.find("step-bar").count() == 24


def test_steps_that_are_not_there_are_one_line_with_a_way_back(browser: Any, host: Host) -> None:
    page = browser.new_page()
    tab = Tab(page, in_stand_in(f"{host.url}/#data_pipeline{STEPS}20..90"))
    tab.find("error-state").wait_for(timeout=TIMEOUT_MS)
    assert "it has steps 1..24; choose among those" in tab.find("error-state").text_content()
    tab.find("all-steps").click()
    tab.find("number-idle").wait_for(timeout=TIMEOUT_MS)
    page.close()
