"""Causes, chains and findings on the page: the figures of the command line, links that lead there, colours by token."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SAWTOOTH, V100, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, in_stand_in, plain

pytestmark = pytest.mark.browser

THEME = Path(__file__).parent.parent.parent / "frontend" / "src" / "theme"
LINKS = ("launch", "wait", "batch", "sample", "stage")
"""Links of a chain that are spans of their own."""


def causes_of(device: dict[str, Any]) -> dict[str, float]:
    return {cause: time for cause, time in device["idle_by_cause_us"].items() if time > 0}


def tokens(theme: str) -> dict[str, str]:
    """Colours by token, from the theme's source."""
    stages = re.findall(rf'(\w+): {{.*{theme}: "(#[0-9A-F]{{6}})"', (THEME / "stage-colors.ts").read_text())
    return dict(re.findall(r'"?([\w:-]+)"?: "(#[0-9A-F]{6})"', (THEME / f"{theme}.ts").read_text()) + stages)


def as_rgb(color: str) -> str:
    return f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.parametrize("name", [SAWTOOTH, V100])
def test_the_bar_of_causes_has_the_figures_of_the_report(tab: Tab, host: Host, name: str) -> None:
    device = host.reports[name]["devices"][0]
    tab.open(name, "overview")
    tab.find("cause-bar").wait_for(timeout=TIMEOUT_MS)
    pieces = tab.find("cause-bar").locator(".share-bar > span").all()
    shown = {one.get_attribute("data-token"): float(one.get_attribute("data-value-us")) for one in pieces}
    assert shown == {"kernel": device["busy_us"]} | {f"idle:{cause}": us for cause, us in causes_of(device).items()}
    numbers = tab.find("idle-by-cause").locator("[data-value]").all()
    assert [float(one.get_attribute("data-value")) for one in numbers] == list(shown.values())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_causes_have_the_colours_of_their_tokens(tab: Tab, host: Host, theme: str) -> None:
    colors = tokens(theme)
    assert colors["idle:data_wait"] == {"light": "#C0392B", "dark": "#F0705F"}[theme]
    tab.open(SAWTOOTH, "overview")
    if theme == "dark":
        tab.page.evaluate("document.body.classList.add('dark-mode')")
    tab.frame.locator(f'html[data-theme="{theme}"]').wait_for(timeout=TIMEOUT_MS, state="attached")
    tab.find("cause-bar").wait_for(timeout=TIMEOUT_MS)
    told = causes_of(host.reports[SAWTOOTH]["devices"][0])
    for piece in tab.find("cause-bar").locator(".share-bar > span").all():
        painted = piece.evaluate("piece => getComputedStyle(piece).backgroundColor")
        assert painted == as_rgb(colors[piece.get_attribute("data-token")])
    fills = tab.frame.locator('[data-testid="step-bar"] rect').evaluate_all(
        "bars => [...new Set(bars.map(bar => getComputedStyle(bar).fill))]"
    )
    assert set(fills) == {as_rgb(colors[token]) for token in ("kernel", *(f"idle:{cause}" for cause in told))}


def test_the_steps_show_every_cause_and_the_teeth_of_the_workers(tab: Tab, host: Host) -> None:
    report = host.reports[SAWTOOTH]
    tab.open(SAWTOOTH, "overview")
    assert tab.find("sawtooth").inner_text(timeout=TIMEOUT_MS).strip() == report["steps"]["sawtooth"]["sentence"]
    assert report["steps"]["sawtooth"]["period"] == 4
    height = tab.find("sawtooth").evaluate("(line) => line.clientHeight")
    assert height < 30, "its point stands in the line"
    assert tab.frame.locator(".wait-point.tooth:not(.tooth-key *)").count() == len(report["steps"]["sawtooth"]["steps"])
    tab.frame.get_by_text("Steps as a table").click()
    tab.find("step-row").nth(len(report["steps"]["items"]) - 1).wait_for(timeout=TIMEOUT_MS)
    for row, step in zip(tab.find("step-row").all(), report["steps"]["items"], strict=True):
        cells = {cell.get_attribute("data-column"): cell for cell in row.locator("td").all()}
        shown = {key: float(cell.get_attribute("data-value-us")) for key, cell in cells.items()}
        assert shown.pop("wait") == step["data_wait_us"] and shown.pop("busy") == step["device_busy_us"]
        assert shown.pop("duration") == step["duration_us"]
        assert shown == {cause: step["idle_by_cause_us"].get(cause, 0) for cause in shown}


def test_every_link_of_a_chain_leads_to_its_place_in_the_timeline(tab: Tab, host: Host) -> None:
    gap = host.reports[SAWTOOTH]["devices"][0]["gaps"][0]
    tab.open(SAWTOOTH, "gaps")
    whole = tab.shown_range()
    assert tab.find("chain-row", known="true").count() == 7
    for link in LINKS:
        told = gap["chain"][link]
        tab.find("chain-row", link=link).locator("button").evaluate("button => button.click()")
        end = told["start_us"] + told["duration_us"]
        wait_until(
            lambda told=told, end=end: tab.shown_range()[0] <= told["start_us"] < end <= tab.shown_range()[1],
            f"the timeline shows the {link}",
            seconds=10,
        )
        start, stop = tab.shown_range()
        assert stop - start < (whole[1] - whole[0]) / 2
        assert tab.find("timeline-canvas").get_attribute("data-marked") == told["lane"]
        assert tab.find("chain-row", link=link).get_attribute("aria-current") == "true"


IN_SIGHT = """canvas => {
    const [top, height] = canvas.dataset.markPx.split(" ").map(Number);
    const from = canvas.getBoundingClientRect().top + top;
    const strip = document.querySelector(".timeline-top").getBoundingClientRect();
    const tabs = document.querySelector(".top").getBoundingClientRect();
    return from >= strip.bottom && from >= tabs.bottom && strip.top >= tabs.bottom - 1 && from + height <= innerHeight;
}"""
"""What is marked stands below the tabs and the strip with the times, which is not below the tabs, and on screen."""


@pytest.mark.parametrize("size", [(1400, 600), (390, 600)])
def test_every_link_into_the_timeline_shows_what_it_marks_on_a_small_screen(
    tab: Tab, host: Host, size: tuple[int, int]
) -> None:
    tab.open(SAWTOOTH, "gaps")
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    tab.shown_range()
    canvas = tab.find("timeline-canvas")
    for link in ("gap", *LINKS):
        button = tab.find("chain-row", link=link).locator("button")
        tab.frame.locator("html").evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
        button.evaluate("button => button.click()")
        wait_until(lambda: canvas.evaluate(IN_SIGHT), f"the {link} is in sight", seconds=10)
    tab.find("chain-batch").evaluate("button => button.click()")
    wait_until(lambda: canvas.get_attribute("data-link") is not None, "its arrow is drawn", seconds=10)
    wait_until(lambda: canvas.evaluate(IN_SIGHT), "the batch is in sight", seconds=10)
    row = tab.find("batch-row").last
    row.locator("button").evaluate("button => { button.scrollIntoView(); button.click(); }")
    top = row.evaluate("row => row.getBoundingClientRect().top")
    tab.find("way-up").wait_for(timeout=TIMEOUT_MS)
    assert row.evaluate("row => row.getBoundingClientRect().top") == top
    tab.find("timeline-way").evaluate("button => button.click()")
    wait_until(lambda: canvas.evaluate(IN_SIGHT), "the batch of the table is in sight", seconds=10)


def test_keys_that_go_from_gap_to_gap_show_why_the_device_was_idle(tab: Tab, host: Host) -> None:
    tab.open(SAWTOOTH, "gaps")
    tab.page.set_viewport_size({"width": 1400, "height": 600})
    tab.shown_range()
    detail = tab.find("gap-detail")
    for key in ("l", "g"):
        tab.frame.locator("html").evaluate("() => window.scrollTo(0, 0)")
        tab.frame.locator("#view").evaluate("view => view.focus()")
        tab.page.keyboard.press(key)
        seen = (
            "detail => [detail.getBoundingClientRect()].every(({ top, bottom }) => top > 48 && bottom <= innerHeight)"
        )
        wait_until(lambda seen=seen: detail.evaluate(seen), f"{key} shows what is said of the gap", seconds=10)


def test_a_chain_is_walked_by_keyboard(tab: Tab, host: Host) -> None:
    tab.open(SAWTOOTH, "gaps")
    whole = tab.shown_range()
    tab.find("chain-row", link="batch").locator("button").focus()
    tab.page.keyboard.press("Enter")
    wait_until(lambda: tab.shown_range() != whole, "the timeline zooms to the batch", seconds=10)
    batch = tab.shown_range()
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    wait_until(lambda: tab.shown_range() != batch, "the timeline goes to the DataLoader worker", seconds=10)
    assert tab.find("chain-row", link="worker").get_attribute("aria-current") == "true"
    tab.page.go_back()
    wait_until(lambda: tab.shown_range() == pytest.approx(batch), "Back leads to the batch again", seconds=10)
    assert tab.find("chain-row", link="batch").get_attribute("aria-current") == "true"


def test_a_gap_is_chosen_in_the_timeline_and_in_the_table_without_a_jump_of_the_page(tab: Tab, host: Host) -> None:
    report = host.reports[SAWTOOTH]
    gaps = report["devices"][0]["gaps"]
    tab.open(SAWTOOTH, "gaps")
    start, end = tab.shown_range()
    detail, table = tab.find("gap-detail"), tab.find("gap-table")
    top = table.evaluate("table => table.getBoundingClientRect().top + window.scrollY")
    canvas = tab.find("timeline-canvas")
    width, height = canvas.evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    middle = gaps[3]["start_us"] + gaps[3]["duration_us"] / 2
    canvas.click(position={"x": 152 + (width - 152) * (middle - start) / (end - start), "y": height - 12})
    assert float(detail.get_attribute("data-start-us")) == gaps[3]["start_us"]
    assert tab.shown_range() == (start, end)
    shown = {
        one.get_attribute("data-cause"): float(one.get_attribute("data-value-us"))
        for one in tab.find("gap-cause").all()
    }
    assert shown == {cause: us for cause, us in gaps[3]["idle_by_cause_us"].items() if us > 0}
    tab.find("gap-row").nth(20).click()
    assert float(detail.get_attribute("data-start-us")) == gaps[20]["start_us"]
    assert table.evaluate("table => table.getBoundingClientRect().top + window.scrollY") == top


def test_gaps_are_filtered_by_cause(tab: Tab, host: Host) -> None:
    gaps = host.reports[V100]["devices"][0]["gaps"]
    tab.open(V100, "gaps")
    button = tab.find("cause-filter", cause="host")
    button.click(timeout=TIMEOUT_MS)
    assert button.get_attribute("aria-pressed") == "true"
    shown = [float(row.get_attribute("data-start-us")) for row in tab.find("gap-row").all()]
    assert shown == [gap["start_us"] for gap in gaps if gap["cause"] == "host"][: len(shown)]
    assert float(tab.find("gap-detail").get_attribute("data-start-us")) == shown[0]
    button.click()
    assert float(tab.find("gap-row").first.get_attribute("data-start-us")) == gaps[0]["start_us"]


@pytest.mark.parametrize("name", [SAWTOOTH, V100])
def test_the_findings_view_has_all_that_the_report_says(tab: Tab, host: Host, name: str) -> None:
    report = host.reports[name]
    tab.open(name, "findings")
    tab.find("finding").first.wait_for(timeout=TIMEOUT_MS)
    items = tab.find("finding").all()
    assert len(items) == len(report["findings"]) == tab.number("number-findings")
    for item, finding in zip(items, report["findings"], strict=True):
        text = plain(item.inner_text())
        assert item.get_attribute("data-rule") == finding["rule"]
        assert plain(finding["title"]) in text and plain(finding["advice"]) in text
        assert all(plain(evidence["text"]) in text for evidence in finding["evidence"])
        assert plain(finding["confidence_reason"]) in text
        gains = [float(one.get_attribute("data-value")) for one in item.get_by_test_id("finding-gain").all()]
        assert gains == [finding["gain_us_per_step"]] if "gain_us_per_step" in finding else not gains
    told = [row.get_attribute("data-rule") for row in tab.find("abstention").all()]
    assert told == [one["rule"] for one in report.get("abstained", [])]
    codes = [row.get_attribute("data-code") for row in tab.find("diagnostic").all()]
    assert codes == [one["code"] for one in report["diagnostics"]]


def test_the_code_of_a_finding_is_copied(browser: Any, host: Host) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    tab = Tab(page, in_stand_in(host.url))
    tab.open(V100, "overview")
    finding = next(one for one in host.reports[V100]["findings"] if one["code"])
    copy = tab.find("finding", rule=finding["rule"]).get_by_role("button", name="Copy")
    copy.click(timeout=TIMEOUT_MS)
    tab.frame.get_by_role("button", name="Copied").wait_for(timeout=TIMEOUT_MS)
    assert page.evaluate("navigator.clipboard.readText()") == finding["code"]
    context.close()
    assert tab.errors == []


def test_evidence_of_stages_batches_and_host_is_that_of_the_report(tab: Tab, host: Host) -> None:
    report = host.reports[SAWTOOTH]
    tab.open(SAWTOOTH, "stages")
    tab.find("stage-row").first.wait_for(timeout=TIMEOUT_MS)
    for stage in report["stages"]:
        row = tab.find("stage-row", path=" > ".join(stage["path"]))
        limit = row.locator('td[data-column="limited_by"]').get_attribute("data-value")
        size = row.locator('td[data-column="bytes_per_call"]').get_attribute("data-value-bytes")
        assert (limit or "") == stage.get("limited_by", "")
        each = stage["bytes"] / max(1, stage["count"]) if "bytes" in stage else None
        assert (float(size) if size else None) == each
    tab.find("tab-workers").click()
    costs = report["worker_costs"]
    for key in ("build_us", "threads", "read_chars", "read_bytes", "voluntary_switches"):
        assert tab.number(f"cost-{key}") == costs[key]
    moving = [told for told in report["load_rows"] if told["low"] or told["high"]]
    for row, told in zip(tab.find("load-row").all(), moving, strict=True):
        assert row.locator("th").inner_text() == told["title"]
        shown = [float(cell.get_attribute("data-value")) for cell in row.locator("td").all()]
        assert shown == [told[key] for key in ("mean", "low", "high")]


def test_every_view_says_the_sentence_of_the_report(tab: Tab, host: Host) -> None:
    report = host.reports[SAWTOOTH]
    [device], [loader] = report["devices"], report["worker_summaries"]
    sentences = {
        ("overview", "verdict"): report["verdict"]["sentence"],
        ("overview", "wait-sentence"): report["loader"]["wait_sentence"],
        ("findings", "findings-sentence"): report["findings_sentence"],
        ("stages", "stages-sentence"): report["stage_summary"]["sentence"],
        ("workers", "workers-sentence"): loader["sentence"],
        ("gaps", "gaps-sentence"): device["sentence"],
    }
    for (view, test_id), sentence in sentences.items():
        tab.open(SAWTOOTH, view)
        assert plain(tab.find(test_id).inner_text(timeout=TIMEOUT_MS)) == plain(sentence)
    tab.open(SAWTOOTH, "workers")
    assert tab.number("number-workers-busy") == loader["busy_us"]
    assert tab.number("number-head-of-line") == loader["head_of_line_us"]


def test_evidence_that_the_overview_shows_elsewhere_is_not_listed(tab: Tab, host: Host) -> None:
    verdict = host.reports[SAWTOOTH]["verdict"]
    tab.open(SAWTOOTH, "overview")
    elsewhere = ("idle_by_cause", "data_wait")
    news = [one for one in verdict["evidence"] if not one["in_sentence"] and one["kind"] not in elsewhere]
    lines = tab.find("verdict-evidence").locator("li")
    lines.nth(len(news) - 1).wait_for()
    shown = [plain(line) for line in lines.all_inner_texts()]
    assert shown == [plain(one["text"]) for one in news]


def test_a_slow_sample_leads_to_its_span_also_where_its_batch_was_never_finished(tab: Tab, host: Host) -> None:
    with_both = (pair for pair in host.reports.items() if pair[1].get("slow_samples") and pair[1].get("workers"))
    name, report = next(with_both)
    tab.open(name, "workers")
    rows = tab.find("slow-sample-row")
    rows.first.wait_for(timeout=TIMEOUT_MS)
    finished = {(one["number"], one["worker"], one["epoch"]) for one in report["batches"] if "finished_us" in one}
    samples = report["slow_samples"]
    unfinished = [n for n, one in enumerate(samples) if (one["batch"], one["worker"], one["epoch"]) not in finished]
    for number in {0, *unfinished[:1]}:
        sample = samples[number]
        rows.nth(number).get_by_test_id("slow-sample-link").click()
        end = sample["start_us"] + sample["duration_us"]
        wait_until(
            lambda sample=sample, end=end: tab.shown_range()[0] <= sample["start_us"] < end <= tab.shown_range()[1],
            "the timeline shows the sample",
            seconds=10,
        )
        start, stop = tab.shown_range()
        assert stop - start <= 2.1 * sample["duration_us"]
        marked = tab.find("timeline-canvas").get_attribute("data-marked")
        assert marked == f"worker:{sample['loader']}.{sample['worker']}"
