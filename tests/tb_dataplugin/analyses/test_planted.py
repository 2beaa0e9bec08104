"""Synthetic truth: what was planted is found, to the nanosecond, and the table in the documentation says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planted import CASES, Planted, look, markdown

ACCURACY = Path(__file__).parents[3] / "docs" / "accuracy.md"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_planted_is_found(case: Planted) -> None:
    found = look(case)
    assert found.causes == case.causes
    assert found.stages == case.stages


def test_the_table_in_the_documentation_is_what_is_found() -> None:
    assert markdown() in ACCURACY.read_text(encoding="utf-8"), "run: python -m tests.planted"
