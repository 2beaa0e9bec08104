from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.reader.decimals import nanoseconds


def read(*texts: str) -> list[int | None]:
    values, good = nanoseconds([text.encode() for text in texts])
    return [value if fine else None for value, fine in zip(values.tolist(), good.tolist(), strict=True)]


def test_an_absolute_time_with_a_fraction_keeps_every_nanosecond() -> None:
    assert read("1695835542514261.123") == [1695835542514261123]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("7", 7000),
        ("7.", 7000),
        ("7.5", 7500),
        ("-3.25", -3250),
        ("-0.001", -1),
        ('"12.5"', 12500),
        ("1.5e3", 1_500_000),
        ("0.0004", 0),
        ("0.0005", 1),
        ("", None),
        ("null", None),
        ("NaN", None),
        ("Infinity", None),
        ("N/A", None),
        ("1.2.3", None),
        ("-", None),
        ("9" * 30, None),
        ("9223372036854774.807", 2**63 - 1001),
        ("8" * 16, int("8" * 16 + "000")),
        ("1\n2", None),
    ],
)
def test_spellings(text: str, expected: int | None) -> None:
    assert read(text, "1")[0] == expected


def test_one_odd_text_does_not_harm_its_neighbours() -> None:
    assert read("1.001", "oops", "2") == [1001, None, 2000]


def test_no_texts() -> None:
    assert read() == []


@given(st.lists(st.decimals(min_value=-(10**13), max_value=10**13, places=4, allow_nan=False), min_size=1, max_size=20))
def test_agrees_with_decimal_arithmetic(numbers: list[Decimal]) -> None:
    expected = [int((number * 1000).to_integral_value(ROUND_HALF_UP)) for number in numbers]
    assert read(*(f"{number:f}" for number in numbers)) == expected
