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
from tb_dataplugin.units import duration

Outcome = Literal["faster", "slower", "not_significant", "unknown"]

ALARM: Final = 0.02
"""Probability of "faster" or "slower" between equal sides."""

REASONS: Final = 2
"""Stages that the sentence names; all of them stand in the table."""

MEASURES: Final[dict[Measure, str]] = {"cpu": "CPU time", "wall": "time"}


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
    evidence: tuple[str, ...]


def judge(
    time: TimeChange | None,
    unit: Unit,
    stages: Sequence[StageChange],
    parts: Sequence[PartChange],
    settings: Sequence[SettingChange],
) -> Verdict:
    named = [one for one in stages if one.significant]
    evidence = (*_stage_evidence(stages), *_part_evidence(parts, unit), *_setting_evidence(settings))
    if time is None or time.change.reach(ALARM) is None:
        return Verdict("unknown", _unknown(time, unit) + _but(named), evidence)
    if time.change.probability > ALARM:
        return Verdict("not_significant", _same(time, unit) + _but(named), evidence)
    outcome: Outcome = "slower" if time.change.value > 0 else "faster"
    reasons = [one for one in named if one.typical and (one.typical.change.value > 0) == (time.change.value > 0)]
    return Verdict(outcome, _differs(outcome, time, unit) + _because(reasons, stages, settings), evidence)


def relative(logarithm: float) -> float:
    """``log(1.1) -> 0.1``."""
    return math.expm1(logarithm)


def signed(share: float) -> str:
    """``0.104 -> "+10 %"``: two digits, more would pretend."""
    return ("+" if share > 0 else "−" if share < 0 else "") + rounded(abs(share))


def rounded(share: float) -> str:
    return f"{share * 100:.1f} %" if share < 0.0995 else f"{share * 100:.0f} %"


def _differs(outcome: Outcome, time: TimeChange, unit: Unit) -> str:
    reach = time.change.reach(SHOWN) or 0.0
    near, far = sorted(abs(relative(time.change.value + way * reach)) for way in (-1, 1))
    amount = f"{rounded(abs(relative(time.change.value)))} ({rounded(near)} to {rounded(far)})"
    return f"{outcome.capitalize()} by {amount}: {_times(time, unit)}"


def _times(time: TimeChange, unit: Unit) -> str:
    return f"{duration(time.after_us)} per {unit} in the place of {duration(time.before_us)}"


def _because(reasons: Sequence[StageChange], stages: Sequence[StageChange], settings: Sequence[SettingChange]) -> str:
    moved = _come_and_gone(stages)
    causes = [*map(_told, reasons[:REASONS]), *moved]
    if causes:
        return f", because {' and '.join(causes)}{_setting_words(settings, '; changed as well: ')}."
    if settings:
        return f"; no stage tells why. Changed between them: {_setting_words(settings, '')}."
    return "; no stage and no setting tells why."


def _told(stage: StageChange) -> str:
    assert stage.typical is not None
    value = stage.typical.change.value
    how = f"{rounded(abs(relative(value)))} {'more' if value > 0 else 'less'}"
    return f"{stage.name} takes {how} {_per_call(stage.typical)}"


def _per_call(typical: Typical) -> str:
    return f"{MEASURES[typical.measure]} per call{' (at equal machine speed)' if typical.speed_adjusted else ''}"


def _come_and_gone(stages: Sequence[StageChange]) -> list[str]:
    gone = [one.name for one in stages if one.after is None][:REASONS]
    come = [one.name for one in stages if one.before is None][:REASONS]
    return [f"{name} is gone" for name in gone] + [f"{name} is new" for name in come]


def _setting_words(settings: Sequence[SettingChange], opening: str) -> str:
    if not settings:
        return ""
    shown = ", ".join(f"{one.name} {one.before} to {one.after}" for one in settings[:3])
    return opening + shown + (f" and {len(settings) - 3} more" if len(settings) > 3 else "")


def _same(time: TimeChange, unit: Unit) -> str:
    limit = time.change.reach(ALARM) or 0.0
    return (
        f"No difference that the noise would not make: {_times(time, unit)} ({signed(relative(time.change.value))}). "
        f"With these captures a difference below about {rounded(relative(limit))} cannot be told from noise."
    )


def _unknown(time: TimeChange | None, unit: Unit) -> str:
    if time is None:
        return (
            "How the time changed cannot be told: one side has neither steps nor samples; "
            "call prof.step() after each iteration, and capture again."
        )
    return (
        f"Whether it changed cannot be told: {_times(time, unit)}, but the captures are too short to know their noise; "
        "record at least four steps for each DataLoader worker, or several captures on each side."
    )


def _but(named: Sequence[StageChange]) -> str:
    return f" But {' and '.join(map(_told, named[:REASONS]))}." if named else ""


def _stage_evidence(stages: Sequence[StageChange]) -> list[str]:
    lines = []
    for one in stages:
        if not one.significant or one.typical is None or one.before is None or one.after is None:
            continue
        found = one.typical.change
        lines.append(
            f"{one.name}: {_per_call(one.typical)} {signed(relative(found.value))}{_between(found)} "
            f"in a typical batch; on average {duration(one.before.per_call_us)}, then {duration(one.after.per_call_us)}"
        )
    return lines


def _between(found: Change) -> str:
    reach = found.reach(SHOWN)
    if reach is None:
        return ""
    low, high = (signed(relative(found.value + way * reach)) for way in (-1, 1))
    return f" ({low} to {high})"


def _part_evidence(parts: Sequence[PartChange], unit: Unit) -> list[str]:
    known = [one for one in parts if one.name in ("data_wait", "device_busy")]
    return [
        f"{one.name.replace('_', ' ')} per {unit}: {duration(one.before_us)}, then {duration(one.after_us)}"
        for one in known
        if one.before_us is not None and one.after_us is not None
    ]


def _setting_evidence(settings: Sequence[SettingChange]) -> list[str]:
    return [f"{one.name}: {one.before}, then {one.after}" for one in settings]
