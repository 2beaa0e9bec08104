"""Says in a sentence what differs, by how much, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final, Literal

from tb_dataplugin.compare.own_lines import OwnLine
from tb_dataplugin.compare.parts import OWN
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.settings import SettingChange
from tb_dataplugin.compare.sides import Unit
from tb_dataplugin.compare.stages import MEASURE_NAMES
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.units import UNKNOWN, change, duration, in_unit, magnitude, ratio, unit_for
from tb_dataplugin.words import SETTINGS, label_of

Outcome = Literal["faster", "slower", "not_significant", "too_short", "identical", "not_comparable", "unknown"]

REASONS: Final = 2
"""Stages that the sentence names; all of them stand in the table."""

SAID_PART: Final = 0.02
"""Change of a part of the time, as a share of the whole, from which the sentence names it."""

LITTLE: Final = 0.1
"""Part of the largest change of a stage's time per unit, below which the sentence leaves out another stage."""

OF_THREAD: Final = ("data_wait", "rest")
"""Parts of the time that add up to all of it."""

MORE: Final = ("more", "slower")

BY_OTHERS: Final = "other programs used the CPUs"


@dataclass(frozen=True, slots=True)
class Compared:
    """All that the verdict is made of. `why_not`: what makes the sides different programs, "" where nothing does."""

    unit: Unit
    runs: int
    """On the side that has more."""
    sharing: tuple[float, float] | None
    """Logarithm of how much longer stages took for waiting for a CPU, before and after; None where little."""
    same_content: bool
    why_not: str
    time: Quantity | None
    parts: Sequence[Quantity]
    stages: Sequence[Quantity]
    settings: Sequence[SettingChange]
    not_judged: tuple[Evidence, ...] = ()
    promises: tuple[Evidence, ...] = ()
    """What findings before the change said that it would save, beside what it saved."""
    own_lines: tuple[OwnLine, ...] = ()
    """Lines of the training thread that certainly changed."""
    crowded: str = ""
    """Which side was captured while other programs used the CPUs, by its report; "" where none was."""

    @property
    def quantities(self) -> list[Quantity]:
        return [*([self.time] if self.time else []), *self.parts, *self.stages]


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    sentence: str
    evidence: tuple[Evidence, ...]


def judge(compared: Compared) -> Verdict:
    quantities, total = compared.quantities, compared.time
    if compared.same_content or (quantities and all(one.outcome == "identical" for one in quantities)):
        return Verdict("identical", f"Identical: every compared number is equal{_each(compared)}.", ())
    settings = _setting_evidence(compared.settings)
    stages, lines = _stage_evidence(compared.stages), _line_evidence(compared)
    evidence = (*stages, *_part_evidence(compared), *lines, *settings, *compared.not_judged)
    if compared.why_not:
        advice = "Compare captures of one program, before and after a change."
        return Verdict("not_comparable", f"Not comparable: {compared.why_not}. {advice}", evidence)
    evidence = (*compared.promises, *evidence)
    if total is None:
        return Verdict("unknown", _certain(compared) + _UNKNOWN, evidence)
    if total.outcome == "faster" or total.outcome == "slower":
        doubtful = f" Doubtful: {compared.crowded}." if compared.crowded else ""
        return Verdict(total.outcome, _differs(compared, total) + doubtful, evidence)
    if total.outcome == "too_short":
        return Verdict(
            "too_short", _likely(compared, total) or _certain(compared) + _too_short(compared, total), evidence
        )
    known = "" if total.change is None else f" ({_with_interval(total)})"
    sentence = f"No significant difference: {_times(total, compared.unit)}{known}."
    return Verdict("not_significant", sentence + _but(compared), evidence)


_UNKNOWN: Final = (
    "How the time changed is unknown: one side has neither steps nor samples; "
    "call prof.step() after each iteration, and capture again."
)


def _each(compared: Compared) -> str:
    return f" ({duration(compared.time.before_us)} per {compared.unit})" if compared.time else ""


def _differs(compared: Compared, total: Quantity) -> str:
    """``Faster: 175 → 140 ms per step; the data wait fell by 98% (one run each, so the total is uncertain by ±17%)``"""
    single = compared.runs == 1
    known = "" if single else f" ({_with_interval(total)})"
    doubt = f" ({_doubt(compared, total)})" if single else ""
    because = f"; {' and '.join(_reasons(compared, total))}"
    against = _against(compared, total)
    moved = _setting_words(compared.settings)
    return f"{total.outcome.capitalize()}: {_times(total, compared.unit)}{known}{because}{doubt}.{against}{moved}"


def _against(compared: Compared, total: Quantity) -> str:
    """Which part of the training thread's time went the other way, by more than its own interval explains."""
    for part in compared.parts:
        bounds, whole = part.interval, max(total.before_us or 0.0, total.after_us or 0.0)
        moved = _difference_us(part) * (-1 if total.outcome == "slower" else 1)
        if part.name not in OF_THREAD or bounds is None or moved <= SAID_PART * whole:
            continue
        if bounds.low > 0 or (bounds.high is not None and bounds.high < 0):
            verb = "rose" if total.outcome == "faster" else "fell"
            sure = "" if part.significant else "; significant by itself, not among all parts"
            return f" But the {part.title} {verb}: {_pair(part)} ({_with_interval(part)}{sure})."
    return ""


def _doubt(compared: Compared, total: Quantity) -> str:
    """Why the total of single runs is uncertain, by its one main reason."""
    why = BY_OTHERS if compared.sharing else "one run each"
    half = total.interval.half_width if total.interval else None
    if half is not None:
        return f"{why}, so the total is uncertain by ±{magnitude(half)}"
    return f"{why}; 95% interval: {total.interval_text}"


def _with_interval(quantity: Quantity) -> str:
    """``−20%, 95% interval −36% to −0.9%``."""
    changed = "" if quantity.change is None or quantity.outcome == "too_short" else f"{change(quantity.change)}, "
    return f"{changed}{_interval(quantity)}"


def _interval(quantity: Quantity) -> str:
    name = "95% interval " if quantity.interval and quantity.interval.high is not None else ""
    return f"{name}{quantity.interval_text}"


def _times(quantity: Quantity, unit: Unit) -> str:
    return f"{_pair(quantity)} per {unit}"


def _pair(quantity: Quantity) -> str:
    """``175 → 140 ms``."""
    unit = unit_for((quantity.before_us, quantity.after_us))
    return f"{in_unit(quantity.before_us, unit)} → {in_unit(quantity.after_us, unit)} {unit.name}"


def _reasons(compared: Compared, total: Quantity) -> list[str]:
    """What went the same way as the time; what came and went."""
    alike = [one for one in _noteworthy(compared) if (one.outcome in MORE) == (total.outcome in MORE)]
    causes = [*map(_words, alike), *_come_and_gone(compared.stages)] or _of_lines(compared, total)
    if not causes:
        return ["no stage explains it" if compared.settings else "no stage and no setting explains it"]
    return causes


def _of_lines(compared: Compared, total: Quantity) -> list[str]:
    """The line of the training thread that went furthest the way of the time."""
    alike = [line for line in compared.own_lines if (line.change_us > 0) == (total.outcome in MORE)]
    return [
        f"{line.name} takes {'at least ' if line.is_bound else ''}{duration(abs(line.change_us))} "
        f"{'more' if line.change_us > 0 else 'less'} in the training thread"
        for line in alike[:1]
    ]


def _noteworthy(compared: Compared) -> list[Quantity]:
    """The data wait, else the part of the time that changed most; what the training thread waited for besides; and
    stages that are named, without those whose change is little beside the largest.
    """
    stages = [stage for stage in compared.stages if stage.significant]
    largest = max(map(_moved_us, stages), default=0.0)
    return [*_main_part(compared), *[stage for stage in stages if _moved_us(stage) >= LITTLE * largest][:REASONS]]


def _moved_us(stage: Quantity) -> float:
    """Per unit."""
    return abs((stage.calls and stage.calls.change_us) or 0.0)


def _main_part(compared: Compared) -> list[Quantity]:
    whole = max(compared.time.before_us or 0.0, compared.time.after_us or 0.0) if compared.time else 0.0
    large = [
        part
        for part in compared.parts
        if part.kind == "part" and part.significant and abs(_difference_us(part)) > SAID_PART * whole
    ]
    waits = [part for part in large if part.name == "data_wait"]
    large.sort(key=lambda part: -abs(_difference_us(part)))
    own = [part for part in large if part.name.startswith(OWN)]
    others = [part for part in large if part.name not in ("rest", "idle:data_wait") and part not in own]
    return [*(waits or others[:1]), *own[:1]]


def _difference_us(quantity: Quantity) -> float:
    return (quantity.after_us or 0.0) - (quantity.before_us or 0.0)


def _words(quantity: Quantity) -> str:
    value = quantity.change
    if quantity.kind == "stage":
        how = f"{magnitude(value or 0.0)} {'more' if quantity.outcome == 'slower' else 'less'}"
        if value is not None and value > 1:
            return f"{quantity.name} takes {ratio(1 + value)} the {_per_call(quantity)}"
        return f"{quantity.name} takes {how} {_per_call(quantity)}"
    if quantity.name.startswith(OWN):
        how = "more" if quantity.outcome == "more" else "less"
        return f"the training thread spends {duration(abs(_difference_us(quantity)))} {how} {quantity.title}"
    verb = "rose" if quantity.outcome == "more" else "fell"
    by = f"by {magnitude(value)}" if value is not None and value <= 1 else f"from {_from_to(quantity)}"
    return f"the {quantity.title} {verb} {by}" if quantity.name == "data_wait" else f"{quantity.title} {verb} {by}"


def _from_to(quantity: Quantity) -> str:
    return _pair(quantity).replace(" → ", " to ")


def _per_call(stage: Quantity) -> str:
    calls = stage.calls
    adjusted = " (at equal machine speed)" if calls and calls.speed_adjusted else ""
    return f"{MEASURE_NAMES[calls.measure] if calls and calls.measure else 'self time'} per call{adjusted}"


def _come_and_gone(stages: Sequence[Quantity]) -> list[str]:
    gone = [stage.name for stage in stages if stage.outcome == "gone"][:REASONS]
    come = [stage.name for stage in stages if stage.outcome == "new"][:REASONS]
    return [f"{name} is gone" for name in gone] + [f"{name} is new" for name in come]


def _setting_words(settings: Sequence[SettingChange]) -> str:
    """Those that are known on both sides."""
    known = [setting for setting in settings if setting.is_known and UNKNOWN not in (setting.before, setting.after)]
    if not known:
        return ""
    shown = ", ".join(f"{setting.name} {setting.before} to {setting.after}" for setting in known[:3])
    return f" Changed as well: {shown}{f' and {len(known) - 3} more' if len(known) > 3 else ''}."


def _too_short(compared: Compared, total: Quantity) -> str:
    runs = "several runs" if compared.runs == 1 else "more runs"
    if compared.sharing:
        advice = f"Capture on a quieter machine, or {runs} on each side."
        return f"Not certain: {_times(total, compared.unit)}; {_by_others(compared.sharing, total)}. {advice}"
    advice = f"Record more steps (at least four for each DataLoader worker), or {runs} on each side."
    return f"Too short to compare: {_times(total, compared.unit)}. {advice}"


def _likely(compared: Compared, total: Quantity) -> str:
    """Where the time changed by more than other programs explain, and a stage or a part of it certainly went that way:
    ``Likely faster, not certain: 91.7 → 21.9 ms per sample (4.2x), of which other programs explain 1.5x; ...``
    """
    if not compared.sharing or not total.before_us or not total.after_us:
        return ""
    changed = log(total.after_us / total.before_us)
    explained = (compared.sharing[1] - compared.sharing[0]) * (1 if changed > 0 else -1)
    alike = [one for one in _noteworthy(compared) if (one.outcome in MORE) == (changed > 0)]
    if not alike or abs(changed) <= explained:
        return ""
    others = "none of it" if ratio(exp(explained)) == ratio(1.0) or explained < 0 else ratio(exp(explained))
    word = "slower" if changed > 0 else "faster"
    runs = "several runs" if compared.runs == 1 else "more runs"
    return (
        f"Likely {word}, not certain: {_times(total, compared.unit)} ({ratio(exp(abs(changed)))}), of which other "
        f"programs on the CPUs explain {others}. {'; '.join(map(_words, alike))}: that is significant. "
        f"For certainty capture on a quieter machine, or {runs} on each side."
    )


def _by_others(sharing: tuple[float, float], total: Quantity) -> str:
    """How much of the change the difference explains that other programs made to what the stages took."""
    before, after = sharing
    changed = log(total.after_us / total.before_us) if total.before_us and total.after_us else 0.0
    explained = (after - before) * (1 if changed > 0 else -1)
    if abs(changed) <= explained:
        return f"{BY_OTHERS}, so two captures of the same program may differ by as much"
    stretched = f"{BY_OTHERS}: stages took {ratio(exp(before))} as long for it before and {ratio(exp(after))} after"
    if ratio(exp(explained)) == ratio(1.0) or explained < 0:
        return f"{stretched}, which explains none of the change but makes it uncertain"
    return f"{stretched}, which explains {ratio(exp(explained))} of the {ratio(exp(abs(changed)))}"


def _certain(compared: Compared) -> str:
    """Stands before what cannot be said of the whole."""
    named = _noteworthy(compared)
    return f"Significant: {' and '.join(map(_words, named))}. " if named else ""


def _but(compared: Compared) -> str:
    named = _noteworthy(compared)
    return f" But {' and '.join(map(_words, named))}." if named else ""


def _stage_evidence(stages: Sequence[Quantity]) -> list[Evidence]:
    facts = []
    for stage in stages:
        if not stage.significant or stage.change is None:
            continue
        measured = f"{_per_call(stage)} in a typical batch: {_pair(stage)}"
        text = f"{stage.name}: {measured} ({change(stage.change)}, {_interval(stage)})"
        facts.append(share("stage_change", stage.change, "self time per call", text, stage.name))
    return facts


def _part_evidence(compared: Compared) -> list[Evidence]:
    known = [part for part in compared.parts if part.name in ("data_wait", "device_busy")]
    return [
        time(
            part.name,
            _difference_us(part),
            f"{part.title} per {compared.unit}: {_pair(part)} ({_with_interval(part)})",
            whole=compared.unit,
        )
        for part in known
        if part.before_us is not None and part.after_us is not None
    ]


def _line_evidence(compared: Compared) -> list[Evidence]:
    unit = compared.unit
    return [time("own_line", line.change_us, line.text(unit), whole=unit) for line in compared.own_lines]


def _setting_evidence(settings: Sequence[SettingChange]) -> list[Evidence]:
    return [
        Evidence(
            "setting",
            f"{label_of(SETTINGS, setting.name)}: {setting.before} before, {setting.after} after"
            f"{'' if setting.is_known else '; it may have changed'}",
        )
        for setting in settings
    ]
