"""A quantity that changed, in words: a clause of the sentence, and the line below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_dataplugin.compare.parts import OWN
from tb_dataplugin.compare.quantity import COME_AND_GONE, Quantity
from tb_dataplugin.compare.stages import MEASURE_NAMES
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.units import change, duration, in_unit, magnitude, ratio, unit_for

SAID_COME_AND_GONE: Final = 3
"""New and gone stages below the sentence, those with the most time; all of them stand in the table."""


def clause(quantity: Quantity) -> str:
    value = quantity.change
    if quantity.outcome in COME_AND_GONE:
        return _come_or_gone(quantity)
    if quantity.kind == "stage":
        how = f"{magnitude(value or 0.0)} {'more' if quantity.outcome == 'slower' else 'less'}"
        if value is not None and value > 1:
            return f"{quantity.name} takes {ratio(1 + value)} the {_per_call(quantity)}"
        return f"{quantity.name} takes {how} {_per_call(quantity)}"
    if quantity.name.startswith(OWN):
        how = "more" if quantity.outcome == "more" else "less"
        return f"the training thread spends {duration(moved_us(quantity))} {how} {quantity.title}"
    verb = "rose" if quantity.outcome == "more" else "fell"
    by = f"by {magnitude(value)}" if value is not None and value <= 1 else f"from {_from_to(quantity)}"
    return f"the {quantity.title} {verb} {by}" if quantity.name == "data_wait" else f"{quantity.title} {verb} {by}"


def _from_to(quantity: Quantity) -> str:
    return pair(quantity).replace(" → ", " to ")


def _per_call(stage: Quantity) -> str:
    calls = stage.calls
    adjusted = " (at equal machine speed)" if calls and calls.speed_adjusted else ""
    per = "sample of its batch" if calls and calls.per_sample else "call"
    return f"{MEASURE_NAMES[calls.measure] if calls and calls.measure else 'self time'} per {per}{adjusted}"


def _come_or_gone(stage: Quantity) -> str:
    """``decode::json.load is new (3.76 ms per call)``."""
    us = stage.after_us if stage.outcome == "new" else stage.before_us
    was = "" if stage.outcome == "new" else " before"
    return f"{stage.name} is {stage.outcome}" + (f" ({duration(us)} per call{was})" if us else "")


def stage_evidence(stages: Sequence[Quantity]) -> list[Evidence]:
    """Of those that certainly changed, came or went, in the order of the table: the largest change first."""
    facts, said = [], 0
    for stage in stages:
        if stage.outcome in COME_AND_GONE and stage.calls and said < SAID_COME_AND_GONE:
            us = (stage.after_us if stage.outcome == "new" else stage.before_us) or 0.0
            when = "" if stage.outcome == "new" else " before"
            text = f"{stage.name} is {stage.outcome}: {duration(us)} per call{when}"
            facts.append(time(f"stage_{stage.outcome}", us, text, "call", stage=stage.name))
            said += 1
        if stage.significant and stage.change is not None:
            measured = f"{_per_call(stage)} in a typical batch: {pair(stage)}"
            text = f"{stage.name}: {measured} ({change(stage.change)}, {_interval(stage)})"
            facts.append(share("stage_change", stage.change, "self time per call", text, stage.name))
    return facts


def with_interval(quantity: Quantity) -> str:
    """``−20%, 95% interval −36% to −0.9%``."""
    changed = "" if quantity.change is None or quantity.outcome == "too_short" else f"{change(quantity.change)}, "
    return f"{changed}{_interval(quantity)}"


def _interval(quantity: Quantity) -> str:
    name = "95% interval " if quantity.interval and quantity.interval.high is not None else ""
    return f"{name}{quantity.interval_text}"


def pair(quantity: Quantity) -> str:
    """``175 → 140 ms``."""
    unit = unit_for((quantity.before_us, quantity.after_us))
    return f"{in_unit(quantity.before_us, unit)} → {in_unit(quantity.after_us, unit)} {unit.name}"


def difference_us(quantity: Quantity) -> float | None:
    """None where a side did not record it: that is not 0."""
    if quantity.before_us is None or quantity.after_us is None:
        return None
    return quantity.after_us - quantity.before_us


def moved_us(quantity: Quantity) -> float:
    """Either way; 0 where a side did not record it."""
    return abs(difference_us(quantity) or 0.0)
