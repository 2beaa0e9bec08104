"""The page inside of frames of others: a notebook's output, an editor's panel."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import tb_dataplugin
from tests.browser.conftest import serve
from tests.browser.tab import plain
from tests.conftest import GOLDEN

pytestmark = pytest.mark.browser

V100 = GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page in which nothing may fail."""
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert errors == []


def test_a_notebooks_frame_has_no_rights_and_works(page: Any, tmp_path: Path) -> None:
    report = tb_dataplugin.read_report(V100)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{report._repr_html_()}", encoding="utf-8")
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.get_by_test_id("verdict").wait_for()
    assert plain(frame.get_by_test_id("verdict").inner_text()) == report[0].verdict.sentence
    frame.get_by_test_id("tab-gaps").click()
    assert frame.get_by_test_id("tab-gaps").get_attribute("aria-selected") == "true"
    frame.get_by_test_id("tab-stages").click()
    frame.get_by_test_id("unavailable-state").wait_for()
    said = frame.locator("html").evaluate("() => { try { localStorage; return 'open'; } catch { return 'shut'; } }")
    assert said == "shut"


FORBIDDEN = """() => {
    if (!location.search.includes("data_pipeline")) return;  // TensorBoard's own page does not start without storage
    const refuse = { get() { throw new DOMException("refused", "SecurityError"); } };
    for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, refuse);
    for (const name of ["pushState", "replaceState"]) parent.history[name] = refuse.get;
}"""
"""What browsers do in a frame that may keep nothing, and go nowhere."""


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[str]:
    """A page of another origin with TensorBoard in a frame, as editors show it."""
    (tmp_path / "logdir").mkdir()
    shutil.copy(V100, tmp_path / "logdir")
    folder = tmp_path / "editor"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("localhost", 0), handler) as server, contextmanager(serve)(tmp_path / "logdir") as url:
        rights = "allow-scripts allow-same-origin allow-forms"
        frame = f'<iframe sandbox="{rights}" src="{url}/#data_pipeline" style="width:100%;height:880px"></iframe>'
        (folder / "index.html").write_text(f"<!doctype html><body>{frame}", encoding="utf-8")
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/index.html"
        server.shutdown()


def test_the_tab_works_in_an_editors_panel_where_nothing_may_be_kept(page: Any, panel: str) -> None:
    page.add_init_script(f"({FORBIDDEN})()")
    page.goto(panel)
    frame = page.frame_locator("iframe").frame_locator('iframe[src*="data_pipeline"]')
    frame.get_by_test_id("verdict").wait_for(timeout=60_000)
    assert plain(frame.get_by_test_id("verdict").inner_text()) == tb_dataplugin.read_report(V100)[0].verdict.sentence
    for view in ("findings", "stages", "gaps", "overview"):
        frame.get_by_test_id(f"tab-{view}").click()
        assert frame.get_by_test_id(f"tab-{view}").get_attribute("aria-selected") == "true"


def test_a_frame_that_may_forbid_saving_is_not_said_to_have_saved(page: Any, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(tb_dataplugin.read_report(V100).to_html(), encoding="utf-8")
    (tmp_path / "host.html").write_text(
        '<!doctype html><iframe sandbox="allow-scripts" src="report.html" width="1300" height="800"></iframe>'
    )
    page.goto((tmp_path / "host.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.get_by_test_id("tab-gaps").click()
    for menu, save, copying in (
        ("table-menu", "Save as CSV", "copy as CSV"),
        ("picture-menu", "Save as PNG", "copy as SVG"),
    ):
        found = frame.get_by_test_id(menu).last
        found.locator("summary").click()
        found.get_by_text(save).click()
        found.get_by_text(f"If nothing was saved, this frame forbids it: {copying}").wait_for()
        found.locator("summary").click()
        found.get_by_role("button", name=copying).click()
        found.get_by_text("Copied").wait_for()
