"""Every view of the page before axe-core: names, roles, contrast, order of headings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.conftest import V100, Host
from tests.browser.tab import TIMEOUT_MS, Tab

pytestmark = pytest.mark.browser

AXE: Final = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS: Final = ("overview", "findings", "stages", "flame", "workers", "gaps", "run", "ranks", "compare", "captures")
FOUND: Final = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`);
}"""


@pytest.mark.parametrize(("theme", "capture"), [("light", V100), ("dark", "two/demo-train")])
def test_axe_finds_nothing_in_any_view(tab: Tab, host: Host, theme: str, capture: str) -> None:
    tab.find("verdict").wait_for(timeout=TIMEOUT_MS)
    if theme == "dark":
        tab.page.evaluate("document.body.classList.add('dark-mode')")
    page = next(frame for frame in tab.page.frames if "data_pipeline" in frame.url and frame != tab.page.main_frame)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    tab.open(next(name for name in host.reports if name.startswith(capture)), VIEWS[0])
    found: dict[str, Any] = {}
    for view in VIEWS:
        tab.find(f"tab-{view}").click()
        tab.frame.locator(f'[data-testid="tab-{view}"][aria-selected="true"]').wait_for(timeout=TIMEOUT_MS)
        if violations := page.evaluate(FOUND):
            found[view] = violations
    assert found == {}
