"""From a phone to a wide screen: nothing runs out of the page, nothing vanishes, nothing jumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.conftest import V100, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, in_stand_in

pytestmark = pytest.mark.browser

VIEWS = {
    "overview": "verdict",
    "findings": "findings-sentence no-findings",
    "stages": "stage-table",
    "flame": "flame-sentence unavailable-state",
    "workers": "workers",
    "gaps": "gap-table unavailable-state",
    "run": "whole-run",
    "ranks": "ranks",
    "compare": "stage-changes",
    "captures": "row-table",
    "trace": "trace-sentence",
}
"""And what each has in the end, one of them: before that there may be nothing to be too wide."""

WIDTHS: Final = (390, 600, 768, 1440, 2560)
FEWER: Final = (390, 1440)
APPEND: Final = "(part, html) => part.insertAdjacentHTML('beforeend', html)"
LAYOUT: Final = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
NOT_AT_ALL_WIDTHS: Final = {"captures-toggle", "capture-option", "perfetto-frame"}
"""The list of captures is folded where there is no room for it beside the view; Perfetto has more room, or none."""
SIDEWAYS: Final = """() => [...document.querySelectorAll(".scroll-x")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.querySelector("table")?.dataset.testid)"""
"""Tables of which a part is out of sight to the right."""


def with_workers(host: Host) -> str:
    return next(name for name, one in host.reports.items() if one.get("slow_samples") and one.get("workers"))


def settled(html: Any) -> dict[str, Any]:
    """What `LAYOUT` finds once nothing is loaded any more and the page has all its parts."""
    seen: list[dict[str, Any]] = [{"parts": []}]

    def is_settled() -> bool:
        seen.append(html.evaluate(LAYOUT))
        return bool(html.evaluate("page => !page.querySelector('.progress')")) and seen[-1] == seen[-2]

    wait_until(is_settled, "the view is whole", seconds=30)
    return seen[-1]


def test_in_every_view_and_width_all_is_there_in_room_of_its_own(browser: Any, host: Host, thorough: bool) -> None:
    """Boxes are compared, not pixels: none lies over another, is cut off, has no size, or is gone at some width."""
    page = browser.new_page()
    tab = Tab(page, host.url)
    tab.find("capture-head").wait_for(timeout=TIMEOUT_MS)
    capture = with_workers(host)
    train = next(name for name in host.reports if name.startswith("demo-train/"))
    fields = {"capture": capture, "before": f"capture:{train}", "after": f"capture:{capture}"}
    tab.page.goto(f"{host.url}/#data_pipeline&" + "&".join(f"p.data_pipeline.{k}={v}" for k, v in fields.items()))
    html = tab.frame.locator("html")
    wrong: dict[str, Any] = {}
    for view, content in VIEWS.items():
        parts: dict[int, set[str]] = {}
        for width in WIDTHS if thorough else FEWER:
            tab.page.set_viewport_size({"width": width, "height": 900})
            tab.find(f"tab-{view}").click()
            there = ", ".join(f'[data-testid="{name}"]' for name in content.split())
            tab.frame.locator(there).first.wait_for(timeout=TIMEOUT_MS)
            assert html.evaluate("page => page.scrollWidth <= window.innerWidth"), f"{view} at {width} px"
            seen = settled(html)
            if hidden := html.evaluate(SIDEWAYS):
                wrong[f"{view} at {width} px scrolls sideways"] = hidden
            parts[width] = set(seen["parts"])
            if seen["found"]:
                wrong[f"{view} at {width} px"] = seen["found"]
        gone = {width: sorted(set.union(*parts.values()) - found - NOT_AT_ALL_WIDTHS) for width, found in parts.items()}
        wrong |= {f"{view} at {width} px lacks": names for width, names in gone.items() if names}
    page.close()
    assert wrong == {}


def test_what_if_is_for_fingers_too(tab: Tab, host: Host) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 900})
    tab.page.goto(f"{in_stand_in(host.url)}&p.data_pipeline.capture={with_workers(host)}")
    choice = tab.find("what-if-stage")
    choice.wait_for(timeout=TIMEOUT_MS)
    choice.evaluate("field => field.options[1].text = 'transform::' + 'A'.repeat(100)")
    choice.select_option(index=1)
    slider = tab.find("what-if-form").locator("input[type=range]")
    slider.wait_for(timeout=TIMEOUT_MS)
    assert slider.evaluate("field => field.offsetWidth > 300 && field.offsetHeight >= 36")
    assert tab.frame.locator("html").evaluate("page => page.scrollWidth <= window.innerWidth")
    assert "Nothing chosen" not in tab.find("what-if-form").inner_text()


def test_a_phone_has_all_tabs_in_sight_and_what_was_measured_above_what_is_predicted(tab: Tab, host: Host) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 900})
    tab.page.goto(f"{in_stand_in(host.url)}&p.data_pipeline.capture={with_workers(host)}")
    tab.find("wait-by-stage").wait_for(timeout=TIMEOUT_MS)
    tabs = tab.frame.get_by_role("tab")
    assert tabs.evaluate_all("all => all.every(one => one.getBoundingClientRect().right <= innerWidth)")
    top = "part => part.getBoundingClientRect().top"
    tops = [tab.find(part).evaluate(top) for part in ("wait-by-stage", "what-if", "settings")]
    assert tops == sorted(tops)


def test_the_search_above_many_captures_covers_none_of_them(tab: Tab, host: Host) -> None:
    """It is there for nine and more; on a narrow screen the list has no heading for it to stay below."""
    body = first_finding(tab, host)
    gap = """list => {
        const field = list.querySelector(".captures-search") ?? Object.assign(document.createElement("p"), {
            className: "captures-search", innerHTML: "<span class=search><input></span>" });
        const heading = list.querySelector("h2");
        heading.after(field);
        const own = field.getBoundingClientRect();
        const { top } = list.getBoundingClientRect(), { bottom, height } = heading.getBoundingClientRect();
        const first = list.querySelector("section").getBoundingClientRect();
        return [own.top - (height ? bottom : top), first.top - own.bottom];
    }"""
    for width in (390, 820, 1440):
        tab.page.set_viewport_size({"width": width, "height": 900})
        body.wait_for(timeout=TIMEOUT_MS)
        if width < 1000 and tab.find("captures-toggle").get_attribute("aria-expanded") == "false":
            tab.find("captures-toggle").click()
        above, below = tab.frame.locator(".captures-list").evaluate(gap)
        assert 0 <= above <= 8 and below >= 0, f"at {width} px"


def test_a_long_check_stays_on_a_phone(tab: Tab, host: Host) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 900})
    body = first_finding(tab, host)
    check = "Batches that the DataLoader hands over too late " * 3
    body.evaluate(APPEND, f"<table class=abstained><tr><th scope=row>{check}</th><td>{check}</td></tr></table>")
    assert tab.frame.locator("html").evaluate("page => page.scrollWidth <= window.innerWidth")


def test_a_long_line_of_code_is_never_cut_off(tab: Tab, host: Host) -> None:
    body = first_finding(tab, host)
    code = "persistent_workers=True, " * 19
    body.evaluate(APPEND, f"<div class=code><pre><code>{code}</code></pre></div>")
    body.evaluate(APPEND, f"<p>Look at <code>{'.resize((32,32))' * 9}</code> first.</p>")
    for width in (390, 820, 1440):
        tab.page.set_viewport_size({"width": width, "height": 900})
        assert body.locator("pre").last.evaluate("pre => pre.scrollWidth <= pre.clientWidth"), f"at {width} px"
        assert tab.frame.locator("html").evaluate("page => page.scrollWidth <= window.innerWidth")


def first_finding(tab: Tab, host: Host) -> Any:
    tab.page.goto(f"{in_stand_in(host.url)}&p.data_pipeline.view=findings&p.data_pipeline.capture={V100}")
    body = tab.find("finding").first.locator(".finding-body")
    body.wait_for(timeout=TIMEOUT_MS)
    return body


def test_the_chain_of_a_gap_names_every_link_in_full(tab: Tab, host: Host) -> None:
    tab.page.goto(f"{in_stand_in(host.url)}&p.data_pipeline.view=gaps&p.data_pipeline.capture={V100}")
    chain = tab.find("chain")
    chain.wait_for(timeout=TIMEOUT_MS)
    chain.locator("button").last.evaluate("name => name.textContent = 'hipLaunchKernel'")
    cut = "list => [...list.querySelectorAll('li > *')].filter(one => one.scrollWidth > one.clientWidth).length"
    for width in (390, 820, 1200, 1440):
        tab.page.set_viewport_size({"width": width, "height": 900})
        assert chain.evaluate(cut) == 0, f"at {width} px"


def test_what_if_takes_a_batch_and_a_stage_on_the_device(tab: Tab, host: Host) -> None:
    tab.page.goto(f"{in_stand_in(host.url)}&p.data_pipeline.capture={with_workers(host)}")
    stage = tab.find("what-if-stage")
    stage.wait_for(timeout=TIMEOUT_MS)
    stage.select_option(index=1)
    tab.find("what-if-Samples per batch").fill("2")
    tab.find("what-if-move").check()
    assert tab.find("what-if-form").locator("input[type=range]").count() == 0
    tab.find("what-if-form").get_by_role("button", name="Predict").click()
    table = tab.find("what-if-table")
    table.wait_for(timeout=TIMEOUT_MS)
    assert "batch=2" in table.inner_text() and "=device" in table.inner_text()


def test_every_column_of_the_stages_is_there_on_a_laptop(tab: Tab, host: Host) -> None:
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    tab.open(with_workers(host), "stages")
    table = tab.find("stage-table")
    table.wait_for(timeout=TIMEOUT_MS)
    shown = table.evaluate("""table => [...table.querySelectorAll('tbody tr:first-child td[data-column]')]
        .filter(cell => cell.getBoundingClientRect().width > 0 && cell.getBoundingClientRect().right <= innerWidth)
        .map(cell => cell.dataset.column)""")
    assert {"p50_us", "p95_us", "max_us"} < set(shown)


def test_the_tabs_stay_in_reach_and_a_row_far_down_does_not_move_the_page(tab: Tab, host: Host) -> None:
    tab.open(V100, "gaps")
    whole = tab.shown_range()  # drawn: it moves what is below
    row = tab.find("gap-row").nth(35)
    row.scroll_into_view_if_needed(timeout=TIMEOUT_MS)
    top = row.evaluate("row => row.getBoundingClientRect().top")
    row.locator("button").click()
    wait_until(lambda: tab.shown_range() != whole, "the timeline goes there", seconds=10)
    assert row.evaluate("row => row.getBoundingClientRect().top") == top
    assert tab.find("tab-gaps").evaluate("tab => tab.getBoundingClientRect().top >= 0")
    tab.find("way-up").get_by_role("button").click()
    canvas = tab.find("timeline-canvas")
    assert canvas.evaluate("canvas => canvas.getBoundingClientRect().top >= 48")
    tab.find("way-up").wait_for(state="detached", timeout=TIMEOUT_MS)


def test_what_a_column_means_is_said_to_the_keyboard_too(tab: Tab, host: Host) -> None:
    tab.open(with_workers(host), "workers")
    head = tab.find("workers").get_by_role("button", name="Starved")
    tab.shown_range()  # drawn: it moves what is below
    head.scroll_into_view_if_needed(timeout=TIMEOUT_MS)  # scrolling hides what is explained
    tip = tab.frame.get_by_role("tooltip")

    def tab_leads_to_it() -> bool:
        tab.find("workers").get_by_role("button", name="Idle").focus()
        tab.page.keyboard.press("Tab")
        return bool(tip.count() == 1)

    wait_until(tab_leads_to_it, "the table stays as it is and its column is explained", seconds=30)
    meaning = "Part of idle: it had no index in its queue, while its DataLoader had more to give"
    assert tip.inner_text(timeout=TIMEOUT_MS) == meaning
    assert head.get_attribute("aria-description") == tip.inner_text()
    tab.page.keyboard.press("Escape")
    tip.wait_for(state="detached", timeout=TIMEOUT_MS)


def test_ctrl_p_in_the_tab_prints_all_views_and_not_what_is_in_sight(tab: Tab, host: Host) -> None:
    tab.open(with_workers(host), "stages")
    tab.find("stage-table").wait_for(timeout=TIMEOUT_MS)
    html = tab.frame.locator("html")
    html.evaluate("""() => { window.print = () => {
        window.dispatchEvent(new Event("beforeprint"));
        window.onPaper = [...document.querySelectorAll(".printed")].map(view => view.dataset.testid);
        window.dispatchEvent(new Event("afterprint"));
    }; }""")
    tab.find("tab-stages").focus()
    tab.page.keyboard.press("Control+p")
    wait_until(lambda: html.evaluate("() => window.onPaper") is not None, "it prints", seconds=10)
    printed = html.evaluate("() => window.onPaper")
    assert {f"printed-{view}" for view in ("overview", "findings", "stages", "workers", "gaps")} <= set(printed)
    assert tab.frame.locator(".printed").count() == 0


def test_a_page_around_ours_prints_the_timeline_in_the_colours_of_its_legend(tab: Tab, host: Host) -> None:
    """The browser looks as soon as it has said that it prints: no frame comes in between."""
    tab.open(with_workers(host), "workers")
    tab.find("timeline-canvas").wait_for(timeout=TIMEOUT_MS)
    html = tab.frame.locator("html")
    picture = """(_, event) => {
        if (event) window.dispatchEvent(new Event(event));
        const drawn = document.querySelector("[data-testid=timeline-canvas]").toDataURL();
        if (event) window.dispatchEvent(new Event("afterprint"));
        return drawn;
    }"""
    seen = ""
    while seen != (seen := html.evaluate(picture, "")):
        tab.page.wait_for_timeout(500)
    tab.page.evaluate("document.body.classList.add('dark-mode')")
    tab.frame.locator('html[data-theme="dark"]').wait_for(timeout=TIMEOUT_MS, state="attached")
    assert html.evaluate(picture, "") != seen
    assert html.evaluate(picture, "beforeprint") == seen


def test_nothing_moves_where_less_motion_is_asked_for(browser: Any, host: Host) -> None:
    bar = """() => {
        document.body.append(Object.assign(document.createElement("div"), { className: "progress" }));
        return document.getAnimations({ subtree: true }).length;
    }"""
    moving = {}
    for wish in ("no-preference", "reduce"):
        page = browser.new_page(reduced_motion=wish)
        tab = Tab(page, host.url)
        tab.find("capture-head").wait_for(timeout=TIMEOUT_MS)
        moving[wish] = tab.frame.locator("html").evaluate(bar)
        page.close()
    assert moving["reduce"] == 0 < moving["no-preference"]


def test_perfetto_is_dark_where_the_page_is(browser: Any, host: Host) -> None:
    page = browser.new_page()  # Perfetto's own complaints are not ours
    tab = Tab(page, in_stand_in(host.url))
    page.evaluate("document.body.classList.add('dark-mode')")
    tab.frame.locator('html[data-theme="dark"]').wait_for(timeout=TIMEOUT_MS, state="attached")
    tab.open(V100, "trace")
    perfetto = tab.frame.frame_locator('[data-testid="perfetto-frame"]')
    perfetto.locator(".pf-theme-provider--dark").first.wait_for(timeout=TIMEOUT_MS)
    page.close()


def test_a_label_of_a_bar_that_has_no_room_on_paper_is_left_out_as_a_whole(tab: Tab, host: Host) -> None:
    """Which one fits is known on screen only: the bar is narrower on paper."""
    tab.open(V100, "overview")
    label = tab.find("cause-bar").locator(".share-label").first
    label.wait_for(timeout=TIMEOUT_MS)
    seen = """(label, width) => {
        const piece = label.parentElement.cloneNode(true);
        const bar = Object.assign(document.createElement("div"), { className: "share-bar" });
        bar.style.width = width;
        bar.append(piece);
        label.closest("figure").append(bar);
        const frame = piece.getBoundingClientRect(), own = piece.firstChild.getBoundingClientRect();
        const result = [own.top < frame.bottom, own.right <= frame.right, piece.offsetHeight];
        bar.remove();
        return result;
    }"""
    tab.page.emulate_media(media="print")
    try:
        assert label.evaluate(seen, "400px") == [True, True, 24]
        assert label.evaluate(seen, "30px")[::2] == [False, 24]
    finally:
        tab.page.emulate_media(media="screen")


def test_the_timelines_focus_frame_is_whole_beside_what_stands_below_it(browser: Any, host: Host) -> None:
    """The menu of the queue's chart has the page's colour, and begins where the timeline ends."""
    tab = Tab(browser.new_page(viewport={"width": 1440, "height": 900}), host.url)
    tab.open(with_workers(host), "workers")
    canvas = tab.find("timeline-canvas")
    canvas.wait_for(timeout=TIMEOUT_MS)
    canvas.focus()
    tab.page.keyboard.press("Shift+Tab")
    tab.page.keyboard.press("Tab")
    outside_px = canvas.evaluate(
        "it => { const s = getComputedStyle(it); return parseFloat(s.outlineWidth) + parseFloat(s.outlineOffset); }"
    )
    style = canvas.evaluate("it => getComputedStyle(it).outlineStyle")
    room_px = tab.frame.locator(".queue .menu").evaluate(
        "menu => menu.getBoundingClientRect().top - "
        "document.querySelector('[data-testid=timeline-canvas]').getBoundingClientRect().bottom"
    )
    assert style == "solid" and outside_px <= room_px
    tab.leave()
