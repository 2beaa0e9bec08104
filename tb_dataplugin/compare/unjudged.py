"""What has most of a difference, and is not certain itself: of the data wait for a stage a run has only the sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_dataplugin.compare.changes import difference_us, pair, with_interval
from tb_dataplugin.compare.quantity import COME_AND_GONE, IDENTICAL, NEEDS_RUNS, Quantity
from tb_dataplugin.compare.sides import Unit
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.units import duration

MOST: Final = 0.5
"""Part of the difference of the whole, from which it is said."""

LEAST: Final = 0.1
"""Difference of the whole, over the side that takes more, from which what has most of it is of interest."""


def largest_unjudged(parts: Sequence[Quantity], total: Quantity | None, unit: Unit) -> tuple[Evidence, ...]:
    """Where the whole is not certain to differ: what would have most of that, if it does."""
    if total is None or not total.before_us or not total.after_us or total.significant:
        return ()
    whole = total.after_us - total.before_us
    if abs(whole) < LEAST * max(total.before_us, total.after_us):
        return ()
    sums = [part for part in parts if part.kind == "data_wait_by_stage" and _is_open(part)]
    moved = [(us, part) for part in sums if (us := difference_us(part)) is not None and us * whole > 0]
    us, largest = max(moved, key=lambda one: abs(one[0]), default=(0.0, None))
    if largest is None or abs(us) < MOST * abs(whole):
        return ()
    text = f"{largest.title}: {pair(largest)}, {_of_it(us, whole, unit)}{_why_open(largest)}"
    return (time("largest_unjudged", us, text, whole=unit),)


def _is_open(part: Quantity) -> bool:
    return not part.significant and part.outcome not in COME_AND_GONE and part.outcome != IDENTICAL


def _why_open(part: Quantity) -> str:
    """Of runs that are repeated there is an interval, or it is too wide to be said."""
    if part.interval_text == NEEDS_RUNS:
        return "; a run has only its sum, so it is not judged"
    return f" ({with_interval(part)}{', not significant' if part.outcome == 'not_significant' else ''})"


def _of_it(us: float, whole: float, unit: Unit) -> str:
    """The rest may have moved the other way."""
    of_it = f"the {duration(abs(whole))} per {unit} by which the whole time differs"
    if abs(us) <= abs(whole):
        return f"{duration(abs(us))} of {of_it}"
    return f"{duration(abs(us))}, more than {of_it}: the rest takes {'longer' if whole < 0 else 'less'}"
