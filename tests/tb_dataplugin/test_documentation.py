"""Links and commands in the documentation: a page that moved, or an option that was renamed, is found here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_dataplugin.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND = re.compile(r"(?:^ {4}|`|bin/)tb-dataplugin ([a-z][a-z-]*)", re.MULTILINE)
FOLDERS = "annotate|benchmarks|docs|examples|scripts|tb_dataplugin|tests"
FILE = re.compile(rf"\b((?:{FOLDERS})/[\w/.-]+\.(?:py|sh|md|proto))\b")


def anchor(heading: str) -> str:
    """As sites make it of a heading: lower case, words joined by hyphens, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in HEADING.findall(page.read_text(encoding="utf-8"))}


def leads_nowhere(page: Path, link: str) -> bool:
    if "://" in link:
        return False
    file, _, place = link.partition("#")
    target = page.parent / file if file else page
    return not target.exists() or (place != "" and place not in anchors(target))


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_a_file_and_a_heading(name: str) -> None:
    page = ROOT / name
    assert [link for link in LINK.findall(page.read_text(encoding="utf-8")) if leads_nowhere(page, link)] == []


@pytest.mark.parametrize("name", PAGES)
def test_commands_exist(name: str) -> None:
    assert set(COMMAND.findall((ROOT / name).read_text(encoding="utf-8"))) <= set(COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_files_that_are_named_exist(name: str) -> None:
    named = FILE.findall((ROOT / name).read_text(encoding="utf-8"))
    assert [file for file in named if not (ROOT / file).exists()] == []


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Parts of the time (`ratio.py`)", "parts-of-the-time-ratiopy"),
        ("Your program as it is: `run`", "your-program-as-it-is-run"),
        ("How accurate it is", "how-accurate-it-is"),
    ],
)
def test_anchors_are_those_of_headings(heading: str, expected: str) -> None:
    assert anchor(heading) == expected
