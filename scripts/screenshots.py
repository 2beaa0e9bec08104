"""Screenshots of every view in real TensorBoard: ``python scripts/screenshots.py URL CAPTURE FOLDER``.

Needs Chromium; used for the README and to judge the page by eye.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

VIEWS = ("overview", "findings", "stages", "workers", "gaps", "trace")
WIDTHS = (1400, 800)
SETTLE_MS = 1500


def main(url: str, capture: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(f"{url}/#data_pipeline")
            frame = page.frame_locator("iframe")
            frame.locator('[data-testid^="tab-"]').first.wait_for(timeout=30_000)
            if width == min(WIDTHS):
                frame.locator('[data-testid="captures-toggle"]').click()
            frame.locator(f'[data-testid="capture-option"][data-id="{capture}"]').click()
            for view in VIEWS:
                frame.locator(f'[data-testid="tab-{view}"]').click()
                for theme in ("light", "dark"):
                    page.evaluate("dark => document.body.classList.toggle('dark-mode', dark)", theme == "dark")
                    page.wait_for_timeout(SETTLE_MS if view != "trace" else 4 * SETTLE_MS)
                    page.screenshot(path=folder / f"{view}-{width}-{theme}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
