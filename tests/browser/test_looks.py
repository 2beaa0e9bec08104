"""Pictures of the page, compared pixel by pixel: it looks the same however one came to a place."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import PIL.Image
import PIL.ImageChops
import pytest

from tests.browser.conftest import V100, Host, wait_until
from tests.browser.tab import TIMEOUT_MS, Tab, in_stand_in
from tests.browser.test_room import with_workers

pytestmark = pytest.mark.browser

VIEWS: Final = {
    "overview": "verdict",
    "findings": "findings-sentence",
    "stages": "stage-table",
    "gaps": "gap-table unavailable-state",
    "workers": "workers",
}
"""And what each has in the end, one of them."""

SIZE: Final = {"width": 1440, "height": 1400}
EDGES, STRONG = 50, 24
"""So many pixels may differ by so much (of 255): the renderer smooths an edge now this way, now that."""
DARK: Final = "isDark => document.body.classList.toggle('dark-mode', isDark)"
LET_GO: Final = "() => document.activeElement?.blur()"


def picture(tab: Tab) -> PIL.Image.Image:
    """Of the page at rest, with neither pointer nor focus in it."""
    tab.frame.locator("html").evaluate(LET_GO)
    tab.page.mouse.move(0, 0)
    seen = [b""]

    def is_at_rest() -> bool:
        seen.append(tab.page.screenshot(animations="disabled"))
        return seen[-1] == seen[-2] and not tab.find("loading-state").count()

    wait_until(is_at_rest, "the page is at rest", seconds=20)
    return PIL.Image.open(io.BytesIO(seen[-1])).convert("RGB")


def differing(one: PIL.Image.Image, other: PIL.Image.Image, name: str, folder: Path) -> str:
    """How much they differ, and where both pictures lie; "" where they are alike but for the edge of a letter."""
    difference = PIL.ImageChops.difference(one, other).convert("L")
    pixels = sum(difference.histogram()[STRONG:])
    if pixels <= EDGES:
        return ""
    for number, each in enumerate((one, other)):
        each.save(folder / f"{name}_{number}.png")
    return f"{name} differs in {pixels} pixels within {difference.getbbox()}: {folder / name}_*.png"


@pytest.fixture
def fresh(browser: Any) -> Iterator[Any]:
    """A profile that has never seen the page."""
    context = browser.new_context(viewport=SIZE)
    yield context
    context.close()


def test_a_view_looks_as_in_a_fresh_profile_whatever_was_on_screen_before(
    tab: Tab, fresh: Any, host: Host, tmp_path: Path
) -> None:
    tab.page.set_viewport_size(SIZE)
    capture, found = with_workers(host), []
    for view, names in VIEWS.items():
        content = ", ".join(f'[data-testid="{name}"]' for name in names.split())
        tab.open(V100, view)
        tab.open(capture, view)
        tab.frame.locator(content).first.wait_for(timeout=TIMEOUT_MS)
        mine = picture(tab)
        other = Tab(fresh.new_page(), in_stand_in(tab.page.url.replace("stand-in.html", "")))
        other.frame.locator(content).first.wait_for(timeout=TIMEOUT_MS)
        found.append(differing(mine, picture(other), view, tmp_path))
        other.leave()
    assert not any(found), found


def test_a_change_of_the_theme_and_back_leaves_nothing_behind(tab: Tab, host: Host, tmp_path: Path) -> None:
    tab.page.set_viewport_size(SIZE)
    tab.open(with_workers(host), "workers")
    tab.find("workers").first.wait_for(timeout=TIMEOUT_MS)
    light = picture(tab)
    tab.page.evaluate(DARK, True)
    dark = picture(tab)
    assert differing(light, dark, "dark", tmp_path), "the theme is another"
    tab.page.evaluate(DARK, False)
    assert not (wrong := differing(light, picture(tab), "light", tmp_path)), wrong
