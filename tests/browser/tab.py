"""The plugin's page within TensorBoard, as a test drives it."""

from __future__ import annotations

from typing import Any

TIMEOUT_MS = 30_000
HARMLESS = ("favicon", "fonts.googleapis", "fonts.gstatic", "google-analytics", "net::ERR_")
"""TensorBoard's own page asks for fonts; nothing of ours does."""
STAND_IN = "stand-in.html"
_FRAME = """<!doctype html><body style="margin: 0">
<iframe src="data/plugin_entry.html?name=data_pipeline" style="border: 0; width: 100%; height: 100vh"></iframe>"""
"""What TensorBoard's page is to ours: a frame of its origin, an address, a body with a theme. It is shown at once."""


def plain(text: str) -> str:
    """With every run of white space, no-break spaces included, as one space; code, as it is set, without backticks."""
    return " ".join(text.replace("`", "").split())


def in_stand_in(url: str) -> str:
    """A TensorBoard's address, or a link to a place in our tab, with `_FRAME` for TensorBoard's own page."""
    host, _, place = url.partition("/#")
    return f"{host}/{STAND_IN}#{place or 'data_pipeline'}"


class Tab:
    """Opens the tab, or a link to a place in it; collects the errors of its page."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", self._fail)
        page.on("console", self._hear)
        if STAND_IN in url:
            page.route(f"**/{STAND_IN}", lambda route: route.fulfill(body=_FRAME, content_type="text/html"))
        page.goto(url if "#" in url else f"{url}/#data_pipeline")
        page.wait_for_selector("iframe", timeout=TIMEOUT_MS)
        self.frame = page.frame_locator("iframe")

    def leave(self) -> None:
        """The page is another test's from now on."""
        self.page.goto("about:blank")
        self.page.remove_listener("pageerror", self._fail)
        self.page.remove_listener("console", self._hear)
        self.page.unroute_all()

    def _fail(self, error: Any) -> None:
        self.errors.append(str(error))

    def _hear(self, entry: Any) -> None:
        if entry.type == "error" and not any(word in entry.text + entry.location.get("url", "") for word in HARMLESS):
            self.errors.append(entry.text)

    def find(self, test_id: str, **attributes: str) -> Any:
        extra = "".join(f'[data-{name.replace("_", "-")}="{value}"]' for name, value in attributes.items())
        return self.frame.locator(f'[data-testid="{test_id}"]{extra}')

    def open(self, capture: str, view: str) -> None:
        option = self.find("capture-option", id=capture)
        option.click()
        self.frame.locator(f'[data-id="{capture}"][aria-current="true"]').wait_for(timeout=TIMEOUT_MS)
        self.find(f"tab-{view}").click()

    def number(self, test_id: str) -> float:
        found = self.find(test_id).first
        found.wait_for(timeout=TIMEOUT_MS)
        return float(found.get_attribute("data-value"))

    def shown_range(self) -> tuple[float, float]:
        """What the timeline shows, in microseconds."""
        canvas = self.frame.locator('[data-testid="timeline-canvas"][data-end-us]')
        canvas.wait_for(timeout=TIMEOUT_MS)
        return float(canvas.get_attribute("data-start-us")), float(canvas.get_attribute("data-end-us"))
