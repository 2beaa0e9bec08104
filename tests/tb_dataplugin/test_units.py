"""Every number is written as `tests/number_cases.json` says; the page's formatter is tested against the same table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_dataplugin import units

CASES = json.loads((Path(__file__).parents[1] / "number_cases.json").read_text(encoding="utf-8"))

FORMATTERS: dict[str, Callable[..., str]] = {
    "significant": units.significant,
    "count": units.count,
    "percent": units.percent,
    "duration_us": units.duration,
    "table_unit_us": lambda largest: units.unit_for([0.0, largest]).name,
    "table_unit_of_us": lambda *values: units.unit_for(values).name,
    "bytes": units.data_size,
    "ratio": units.ratio,
    "change": units.change,
    "interval": units.interval,
    "plural": units.plural,
}


def test_every_kind_of_number_has_cases() -> None:
    assert CASES.keys() - {"about"} == FORMATTERS.keys()


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind in FORMATTERS for case in CASES[kind]], ids=str)
def test_numbers_are_written_as_the_table_says(kind: str, case: list[object]) -> None:
    *arguments, text = case
    assert FORMATTERS[kind](*arguments) == text


def test_what_is_unknown_is_a_dash() -> None:
    assert units.duration(None) == units.percent(None) == units.in_unit(None, units.MS) == "–"
