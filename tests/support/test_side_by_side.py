"""The order in which the tests are handed to their processes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.side_by_side import FIRST, longest_first

ROOT = Path(__file__).parents[2]


def test_what_is_begun_first_is_there() -> None:
    assert [name for name in FIRST if not (ROOT / name).exists()] == []


def test_what_takes_longest_comes_first_and_then_what_has_many_tests() -> None:
    ids = [
        "tests/a.py::x",
        "tests/b.py::x",
        "tests/b.py::y",
        f"{FIRST[2]}::x",
        "tests/harm/b.py::x",
        "tests/harm/a.py::x",
    ]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in ids]
    ordered = longest_first(items)
    assert [item.nodeid for item in ordered] == [ids[4], ids[5], ids[3], ids[1], ids[2], ids[0]]
