"""Says in a sentence what differs, by how much, why, and what could not have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.compare.noise import SHOWN, Change
from tb_dataplugin.compare.parts import PartChange
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Measure, Unit
from tb_dataplugin.compare.stages import StageChange, Typical
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.units import TOO_WIDE, change, duration, interval, is_too_wide, magnitude
from tb_dataplugin.words import SETTINGS, label_of

Outcome = Literal["faster", "slower", "not_significant", "unknown"]

ALARM: Final = 0.02
"""Probability of "faster" or "slower" between equal sides."""

REASONS: Final = 2
"""Stages that the sentence names; all of them stand in the table."""

MEASURES: Final[dict[Measure, str]] = {"cpu": "CPU time", "wall": "self time"}


@dataclass(frozen=True, slots=True)
class TimeChange:
    """Mean time per unit on both sides (us), and the change of its logarithm."""

    before_us: float
    after_us: float
    change: Change


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    sentence: str
    evidence: tuple[Evidence, ...]


def judge(
    total: TimeChange | None,
    unit: Unit,
    stages: Sequence[StageChange],
    parts: Sequence[PartChange],
    settings: Sequence[SettingChange],
) -> Verdict:
    named = [stage for stage in stages if stage.significant]
    evidence = (*_stage_evidence(stages), *_part_evidence(parts, unit), *_setting_evidence(settings))
    if total is None or total.change.reach(ALARM) is None:
        return Verdict("unknown", _unknown(total, unit) + _but(named), evidence)
    if total.change.probability > ALARM:
        return Verdict("not_significant", _not_significant(total, unit) + _but(named), evidence)
    slower = total.change.value > 0
    reasons = [stage for stage in named if stage.typical and (stage.typical.change.value > 0) == slower]
    outcome: Outcome = "slower" if slower else "faster"
    return Verdict(outcome, _differs(outcome, total, unit) + _because(reasons, stages, settings), evidence)


def relative(logarithm: float) -> float:
    """``log(1.1) -> 0.1``."""
    return math.expm1(logarithm)


def _differs(outcome: Outcome, total: TimeChange, unit: Unit) -> str:
    amount = magnitude(relative(total.change.value))
    ends = _ends(total.change)
    known = "" if ends is None else f" (95% interval {interval(*ends)})"
    return f"{outcome.capitalize()} by {amount}{known}: {_times(total, unit)}"


def _ends(one: Change) -> tuple[float, float] | None:
    """Of the 95% interval; None where it is not known, or too wide to say anything."""
    reach = one.reach(SHOWN)
    if reach is None:
        return None
    low, high = relative(one.value - reach), relative(one.value + reach)
    return None if is_too_wide(low, high) else (low, high)


def _times(total: TimeChange, unit: Unit) -> str:
    return f"{duration(total.before_us)} before, {duration(total.after_us)} after, per {unit}"


def _because(reasons: Sequence[StageChange], stages: Sequence[StageChange], settings: Sequence[SettingChange]) -> str:
    moved = _come_and_gone(stages)
    causes = [*map(_stage_words, reasons[:REASONS]), *moved]
    if causes:
        return f", because {' and '.join(causes)}{_setting_words(settings, '; changed as well: ')}."
    if settings:
        return f"; no stage explains it. Settings that changed: {_setting_words(settings, '')}."
    return "; no stage and no setting explains it."


def _stage_words(stage: StageChange) -> str:
    assert stage.typical is not None
    value = stage.typical.change.value
    how = f"{magnitude(relative(value))} {'more' if value > 0 else 'less'}"
    return f"{stage.name} takes {how} {_per_call(stage.typical)}"


def _per_call(typical: Typical) -> str:
    return f"{MEASURES[typical.measure]} per call{' (at equal machine speed)' if typical.speed_adjusted else ''}"


def _come_and_gone(stages: Sequence[StageChange]) -> list[str]:
    gone = [stage.name for stage in stages if stage.after is None][:REASONS]
    come = [stage.name for stage in stages if stage.before is None][:REASONS]
    return [f"{name} is gone" for name in gone] + [f"{name} is new" for name in come]


def _setting_words(settings: Sequence[SettingChange], opening: str) -> str:
    if not settings:
        return ""
    shown = ", ".join(f"{setting.name} {setting.before} to {setting.after}" for setting in settings[:3])
    return opening + shown + (f" and {len(settings) - 3} more" if len(settings) > 3 else "")


def _not_significant(total: TimeChange, unit: Unit) -> str:
    limit = relative(total.change.reach(ALARM) or 0.0)
    opening = f"No significant difference: {_times(total, unit)} ({change(relative(total.change.value))})."
    if is_too_wide(-limit, limit):
        return f"{opening} The captures are {TOO_WIDE}: record more steps, or several captures on each side."
    return f"{opening} The smallest detectable change of these captures is about {magnitude(limit)}."


def _unknown(total: TimeChange | None, unit: Unit) -> str:
    if total is None:
        return (
            "How the time changed is unknown: one side has neither steps nor samples; "
            "call prof.step() after each iteration, and capture again."
        )
    return (
        f"Whether it changed is unknown: {_times(total, unit)}, but the captures are {TOO_WIDE}; "
        "record at least four steps for each DataLoader worker, or several captures on each side."
    )


def _but(named: Sequence[StageChange]) -> str:
    return f" But {' and '.join(map(_stage_words, named[:REASONS]))}." if named else ""


def _stage_evidence(stages: Sequence[StageChange]) -> list[Evidence]:
    facts = []
    for stage in stages:
        if not stage.significant or stage.typical is None or stage.before is None or stage.after is None:
            continue
        value, ends = relative(stage.typical.change.value), _ends(stage.typical.change)
        known = "" if ends is None else f" ({interval(*ends)})"
        text = (
            f"{stage.name}: {_per_call(stage.typical)} {change(value)}{known} in a typical batch; "
            f"on average {duration(stage.before.per_call_us)} before, {duration(stage.after.per_call_us)} after"
        )
        facts.append(share("stage_change", value, "self time per call", text, stage.name))
    return facts


def _part_evidence(parts: Sequence[PartChange], unit: Unit) -> list[Evidence]:
    known = [part for part in parts if part.name in ("data_wait", "device_busy")]
    return [
        time(
            part.name,
            part.after_us - part.before_us,
            f"{part.title} per {unit}: {duration(part.before_us)} before, {duration(part.after_us)} after",
            whole=unit,
        )
        for part in known
        if part.before_us is not None and part.after_us is not None
    ]


def _setting_evidence(settings: Sequence[SettingChange]) -> list[Evidence]:
    return [
        Evidence("setting", f"{label_of(SETTINGS, setting.name)}: {setting.before} before, {setting.after} after")
        for setting in settings
    ]
