"""Numbers for people: three significant digits, one unit per table. Exact values stay in the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class TimeUnit:
    name: str
    us: float  # microseconds in one


US, MS, S = TimeUnit("µs", 1.0), TimeUnit("ms", 1e3), TimeUnit("s", 1e6)


def unit_for(values_us: Iterable[float | None]) -> TimeUnit:
    """The unit in which the largest of the values reads best; a table shows all its times in it."""
    largest = max((abs(value) for value in values_us if value is not None), default=0.0)
    return S if largest >= 10 * S.us else MS if largest >= MS.us else US


def significant(value: float, digits: int = 3) -> str:
    """``0.01234 -> "0.012"``, ``12.34 -> "12.3"``, ``1234.5 -> "1 234"``: whole digits are never rounded away.

    What is less than can be shown never looks like nothing: ``0.0001 -> "<0.001"``.
    """
    if value == 0:
        return "0"
    if 0 < value < 0.5 * 10**-digits:
        return f"<{10**-digits:.{digits}f}"
    magnitude = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    decimals = max(0, digits - magnitude) if magnitude else digits
    return f"{value:,.{decimals}f}".replace(",", " ")


def in_unit(value_us: float | None, unit: TimeUnit) -> str:
    return UNKNOWN if value_us is None else significant(value_us / unit.us)


def duration(value_us: float | None) -> str:
    """A single duration with its own unit: ``"415 ms"``."""
    if value_us is None:
        return UNKNOWN
    unit = S if abs(value_us) >= S.us else MS if abs(value_us) >= MS.us else US
    return f"{significant(value_us / unit.us)} {unit.name}"


def plural(count: int, noun: str) -> str:
    """``(1, "step") -> "1 step"``, ``(2, "batch") -> "2 batches"``."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "ch", "x")) else "s"
    grouped = f"{count:,}".replace(",", " ")
    return f"{grouped} {noun}{ending}"


def percent(share: float | None) -> str:
    """``0.4396 -> "44.0 %"``."""
    if share is None:
        return UNKNOWN
    if 0 < share < 1e-5:
        return "<0.001 %"
    return f"{significant(share * 100)} %"
