"""`scripts/terminal_picture.py`: what a command prints, as SVG."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[3] / "scripts" / "terminal_picture.py"))
TEXT = "{http://www.w3.org/2000/svg}text"


def test_each_line_stands_where_the_terminal_has_it() -> None:
    root = ElementTree.fromstring(SCRIPT["picture"]("tune a:b", 'a <b>\n\n  "c" & d\n\n'))
    command, first, last = root.iter(TEXT)
    assert [command.text, first.text, last.text] == ["$ tune a:b", "a <b>", '"c" & d']
    assert float(last.get("x", "")) - float(first.get("x", "")) == pytest.approx(2 * SCRIPT["LETTER_PX"])
    assert int(last.get("y", "")) - int(first.get("y", "")) == 2 * SCRIPT["LINE_PX"]


def test_a_long_line_widens_the_picture() -> None:
    narrow, wide = (ElementTree.fromstring(SCRIPT["picture"]("x", "m" * count)) for count in (10, 200))
    assert int(narrow.get("width", "")) < int(wide.get("width", ""))
