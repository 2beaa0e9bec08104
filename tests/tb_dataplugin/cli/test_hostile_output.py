"""Where a report is written, and what one in HTML may carry."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tests.tb_dataplugin.test_shown import named
from tests.trace_builder import training_run


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return training_run().write(tmp_path / "logs" / "a.pt.trace.json")


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_report_is_not_written_through_a_link_to_a_file(
    tmp_path: Path, trace: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "out").symlink_to(precious)
    assert main(["report", str(trace), "--format", form, "-o", str(tmp_path / "out")]) == 2
    assert precious.read_text() == "mine"
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "is a link to" in told and str(precious) in told


def test_a_link_that_leads_nowhere_makes_no_file_there(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "new")
    assert main(["report", str(trace), "-o", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "new").exists()


def test_a_device_may_be_written_through_a_link(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "out").symlink_to("/dev/null")
    assert main(["report", str(trace), "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_report_never_takes_the_place_of_a_trace(
    tmp_path: Path, trace: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = trace.read_bytes()
    (tmp_path / "same").hardlink_to(trace)
    for output in (trace, tmp_path / "same", trace.parent / ".." / "logs" / trace.name):
        assert main([command, str(trace), *([str(trace)] if command == "compare" else []), "-o", str(output)]) == 2
        assert "one of the traces" in capsys.readouterr().err
    assert trace.read_bytes() == before


class _Elements(HTMLParser):
    """What a browser would make of a page: elements, and the text of the data element."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes = dict(attrs)

    def handle_data(self, data: str) -> None:
        key = f"{self.tags[-1]} {self.attributes.get('type')}" if self.tags else ""
        self.data[key] = self.data.get(key, "") + data


INJECTIONS = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></script>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029",
    "</title><script>alert(1)</script>",
    "</style><b>",
    "${alert(1)}",
    "\\u003c/script>",
    "&lt;b&gt;",
    "\"'><b>",
)


def page_of(folder: Path, name: str) -> str:
    """The report of a capture in which everything has this name."""
    path = named(name).write(folder / f"run {name}".replace("/", "∕") / "a.pt.trace.json")
    assert main(["report", str(path), "--format", "html", "-o", str(folder / "page.html")]) == 0
    return (folder / "page.html").read_text("utf-8")


def elements_of(text: str) -> _Elements:
    page = _Elements()
    page.feed(text)
    return page


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> _Elements:
    return elements_of(page_of(tmp_path_factory.mktemp("plain"), "plain"))


@pytest.mark.parametrize("name", INJECTIONS)
def test_no_name_gets_out_of_its_place_in_a_page(tmp_path: Path, plain: _Elements, name: str) -> None:
    text = page_of(tmp_path, name)
    page = elements_of(text)
    assert page.tags == plain.tags
    told = json.loads(page.data["script application/json"])
    assert told["report"]["captures"][0]["host"] == name
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and policy[1].startswith("default-src 'none'")
