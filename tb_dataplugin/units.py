"""Numbers for people, in English typography: three significant digits, a unit at each number or once per table.

The page has the same formatter (`frontend/src/model/format.ts`); both are tested against `tests/number_cases.json`.
Exact values stay in the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

UNKNOWN: Final = "–"
TOO_WIDE: Final = "too uncertain to compare"

DIGITS: Final = 3
MOST_DECIMALS: Final = 4
PERCENT_DECIMALS: Final = 2

WIDEST_INTERVAL: Final = 1.0
"""Half the width of a relative interval, above which it says nothing that is worth printing (100%)."""


@dataclass(frozen=True, slots=True)
class TimeUnit:
    name: str
    us: float  # microseconds in one


US, MS, S, MIN = TimeUnit("µs", 1.0), TimeUnit("ms", 1e3), TimeUnit("s", 1e6), TimeUnit("min", 6e7)


def unit_for(values_us: Iterable[float | None]) -> TimeUnit:
    """The unit in which the largest of the values reads best; a table shows all its times in it. Seconds (from 10 s on)
    and minutes are left to columns whose smallest value keeps its three digits in them.
    """
    sizes = [abs(value) for value in values_us if value]
    largest, smallest = max(sizes, default=0.0), min(sizes, default=0.0)
    if largest < 1e7:
        return US if largest < 1e3 else MS
    if largest < 6e8:
        return S if smallest >= 1e4 else MS
    return MIN if smallest >= 6e5 else S


def significant(value: float, most_decimals: int = MOST_DECIMALS) -> str:
    """``12.34 -> "12.3"``, ``1234.5 -> "1,230"``. What is too small to show never looks like nothing: ``"<0.0001"``."""
    if not value:
        return "0"
    rounded = _rounded(value)
    smallest = Decimal(1).scaleb(-most_decimals)
    if abs(rounded) < smallest / 2:
        return f"{'>−' if value < 0 else '<'}{smallest:f}"
    return _grouped(rounded, min(most_decimals, max(0, DIGITS - 1 - rounded.adjusted())))


def _rounded(value: float) -> Decimal:
    """To three significant digits, ties away from zero (as JavaScript does)."""
    exact = Decimal(value)
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), ROUND_HALF_UP) if value else exact


def _grouped(value: Decimal, decimals: int) -> str:
    return f"{value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):,f}".replace("-", "−")


def in_unit(value_us: float | None, unit: TimeUnit) -> str:
    return UNKNOWN if value_us is None else significant(value_us / unit.us)


def duration(value_us: float | None) -> str:
    """A single duration with its own unit: ``"415 ms"``."""
    if value_us is None:
        return UNKNOWN
    size = abs(_rounded(value_us))
    unit = US if size < 1000 else MS if size < 1_000_000 else S if size < 120_000_000 else MIN
    return f"{in_unit(value_us, unit)} {unit.name}"


def more_or_less(value_us: float) -> str:
    """A difference of durations without a sign to read twice: ``"4.56 ms more"``, ``"21.7 ms less"``."""
    return f"{duration(abs(value_us))} {'less' if value_us < 0 else 'more'}"


def data_size(size: float) -> str:
    """Bytes in decimal units: ``25_276_502_016 -> "25.3 GB"``."""
    units = ("B", "kB", "MB", "GB", "TB")
    place = 0
    while abs(_rounded(size)) >= 1000 and place < len(units) - 1:
        size, place = size / 1000, place + 1
    return f"{significant(size, PERCENT_DECIMALS if place else 0)} {units[place]}"


def count(number: int) -> str:
    """Counts are exact: ``"7,739"``."""
    return f"{number:,}".replace("-", "−")


def plural(number: int, noun: str) -> str:
    """``(1, "step") -> "1 step"``, ``(2, "batch") -> "2 batches"``."""
    return f"{count(number)} {noun if number == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    """``"batch" -> "batches"``."""
    return f"{noun}{'es' if noun.endswith(('s', 'tch', 'x')) else 's'}"


def listed(items: Sequence[object]) -> str:
    """Of a sentence: ``1, 2 and 5``."""
    first, last = [str(item) for item in items[:-1]], str(items[-1])
    return f"{', '.join(first)} and {last}" if first else last


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{count(number)}{ending}"


def percent(share: float | None) -> str:
    """``0.4396 -> "44.0%"``."""
    return UNKNOWN if share is None else f"{significant(share * 100, PERCENT_DECIMALS)}%"


def ratio(value: float) -> str:
    """How many times as much: ``3.04 -> "3.0x"``, ``12.3 -> "12x"``."""
    return f"{significant(value, 2 if value < 0.1 else 1 if value < 10 else 0)}x"


def change(share: float) -> str:
    """A relative change with its sign: ``0.104 -> "+10%"``, ``-0.031 -> "−3.1%"``. More digits would pretend."""
    text = magnitude(share)
    return text if text == "0.0%" else ("+" if share > 0 else "−") + text


def magnitude(share: float) -> str:
    """The same without its sign."""
    size = abs(Decimal(share) * 100)
    if size >= 1000:
        return f"{significant(float(size))}%"
    return f"{_grouped(size, 1 if size < Decimal('9.95') else 0)}%"


def is_too_wide(low: float, high: float) -> bool:
    return (high - low) / 2 > WIDEST_INTERVAL


def interval(low: float, high: float) -> str:
    """Ends of a 95% interval of a relative change: ``"−5.0% to +12%"``."""
    return TOO_WIDE if is_too_wide(low, high) else f"{change(low)} to {change(high)}"
