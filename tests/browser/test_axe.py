"""Every view of the page before axe-core: names, roles, contrast, order of headings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.conftest import AFTER, BEFORE, MASK, V100, Host
from tests.browser.tab import TIMEOUT_MS, Tab

pytestmark = pytest.mark.browser

AXE: Final = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS: Final = ("overview", "findings", "stages", "flame", "workers", "gaps", "run", "ranks", "compare", "captures")
FOUND: Final = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`);
}"""


def with_axe(tab: Tab, theme: str) -> Any:
    """The frame of our page."""
    tab.find("capture-head").wait_for(timeout=TIMEOUT_MS)
    tab.page.evaluate("dark => document.body.classList.toggle('dark-mode', dark)", theme == "dark")
    tab.frame.locator(f'html[data-theme="{theme}"]').wait_for(timeout=TIMEOUT_MS, state="attached")
    page = next(frame for frame in tab.page.frames if "data_pipeline" in frame.url and frame != tab.page.main_frame)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page


@pytest.mark.parametrize(("theme", "capture"), [("light", V100), ("dark", "two/demo-train")])
def test_axe_finds_nothing_in_any_view(tab: Tab, host: Host, theme: str, capture: str) -> None:
    page = with_axe(tab, theme)
    tab.open(next(name for name in host.reports if name.startswith(capture)), VIEWS[0])
    found: dict[str, Any] = {}
    for view in VIEWS:
        tab.find(f"tab-{view}").click()
        tab.frame.locator(f'[data-testid="tab-{view}"][aria-selected="true"]').wait_for(timeout=TIMEOUT_MS)
        if violations := page.evaluate(FOUND):
            found[view] = violations
    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_where_stacks_were_sampled(browser: Any, lined: Host, theme: str) -> None:
    """Functions that take much less time than before, and much more; the page of a stage; the trace."""
    tab = Tab(browser.new_page(viewport={"width": 1400, "height": 900}), lined.link(capture=BEFORE, view="overview"))
    page = with_axe(tab, theme)

    def found(ready: str, **place: str) -> Any:
        tab.page.goto(lined.link(**place))
        tab.frame.locator(ready).first.wait_for(timeout=TIMEOUT_MS)
        return page.evaluate(FOUND)

    for tone, before, after in (("less", BEFORE, AFTER), ("more", AFTER, BEFORE)):
        sides = {"before": f"capture:{before}", "after": f"capture:{after}"}
        assert found(f'.frame.named[data-tone="{tone}-3"]', view="compare", capture=after, **sides) == []
    assert found('main:has([data-testid="stage-page"]) .icicle', view="stages", capture=BEFORE, stage=MASK) == []
    assert tab.errors == []
    assert found('[data-testid="trace-sentence"]', view="trace", capture=BEFORE) == []
    tab.page.close()  # Perfetto's own complaints are not ours
