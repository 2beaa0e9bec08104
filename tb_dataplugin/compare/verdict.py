"""Says in a sentence what differs, by how much, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Final, Literal

from tb_dataplugin.compare.changes import clause, difference_us, moved_us, pair, stage_evidence, with_interval
from tb_dataplugin.compare.compared import Compared
from tb_dataplugin.compare.largest_part import mostly_data_wait
from tb_dataplugin.compare.noise import Z_95
from tb_dataplugin.compare.other_loaders import but_for, evidence_of_others, others_sentence
from tb_dataplugin.compare.own_lines import OwnLine
from tb_dataplugin.compare.parts import OWN
from tb_dataplugin.compare.quantity import COME_AND_GONE, Quantity
from tb_dataplugin.compare.settings import beside_one_process, setting_evidence, setting_words
from tb_dataplugin.compare.sides import Unit
from tb_dataplugin.compare.unjudged import largest_unjudged
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.units import duration, listed, ratio

Outcome = Literal["faster", "slower", "not_significant", "too_short", "identical", "not_comparable", "unknown"]

REASONS: Final = 2
"""Stages that the sentence names; all of them stand in the table."""

SAID_PART: Final = 0.02
"""Change of a part of the time, or of a stage, as a share of the whole, from which the sentence names it."""

LITTLE: Final = 0.1
"""Part of the largest change of a stage's time per unit, below which the sentence leaves out another stage."""

OF_THREAD: Final = ("data_wait", "rest")
"""Parts of the time that add up to all of it."""

MORE: Final = ("more", "slower", "new")

WAITED: Final = "stages waited for a CPU"
"""Whoever held it: the loop's own workers and threads as well as other programs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    sentence: str
    evidence: tuple[Evidence, ...]
    basis: str = ""
    """What "likely" rests on, as the total's own interval shows nothing; "" where it isn't said."""


def judge(compared: Compared) -> Verdict:
    """A file that is cut off is said first: all that follows is without its end. What changed for other DataLoaders is
    said last: nothing before has it.
    """
    verdict = _judged(compared)
    if verdict.outcome not in ("identical", "not_comparable"):
        verdict = replace(verdict, sentence=verdict.sentence + others_sentence(compared.others) + _of_rank(compared))
    if not compared.cut_off or verdict.outcome == "identical":
        return verdict
    return replace(verdict, sentence=f"Doubtful: {compared.cut_off}. {verdict.sentence}")


def _of_rank(compared: Compared) -> str:
    if compared.rank is None:
        return beside_one_process(compared.settings)
    return (
        f" Only rank {compared.rank} is compared, of several: what another one loads may have changed, and holds up "
        "all. Compare captures of that rank, too."
    )


def _judged(compared: Compared) -> Verdict:
    quantities, total = compared.quantities, compared.time
    if compared.same_content or (quantities and all(one.outcome == "identical" for one in quantities)):
        return Verdict("identical", f"Identical: every compared number is equal{_each(compared)}.", ())
    settings = setting_evidence(compared.settings)
    stages, lines = stage_evidence(compared.stages), _line_evidence(compared)
    evidence = (
        *stages,
        *_part_evidence(compared),
        *largest_unjudged(compared.parts, total, compared.unit),
        *lines,
        *settings,
        *evidence_of_others(compared.others),
        *compared.not_judged,
    )
    if compared.why_not:
        advice = "Compare captures of one program, before and after a change."
        return Verdict("not_comparable", f"Not comparable: {compared.why_not}. {advice}", evidence)
    evidence = (*compared.promises, *evidence)
    if total is None:
        return Verdict("unknown", _certain(compared) + _UNKNOWN, evidence)
    if total.outcome == "faster" or total.outcome == "slower":
        doubtful = f" Doubtful: {compared.crowded}." if compared.crowded else ""
        return Verdict(total.outcome, _differs(compared, total) + doubtful, evidence)
    is_short = total.outcome == "too_short" or total.is_vague_swapped
    outcome: Outcome = "too_short" if is_short else "not_significant"
    if likely := _likely(compared, total, is_short):
        return Verdict(outcome, likely, evidence, f"“likely” rests on: {listed(_alike(compared, total))}")
    if is_short:
        return Verdict(outcome, _certain(compared) + _too_short(compared, total), evidence)
    where = f"{compared.within}{but_for(compared.others)}"
    sentence = f"No significant difference{where}: {_times(total, compared.unit)}{_known(total)}."
    return Verdict(outcome, sentence + _but(compared), evidence)


def _known(total: Quantity) -> str:
    return "" if total.interval is None else f" ({with_interval(total)})"


_UNKNOWN: Final = (
    "How the time changed is unknown: one side has neither steps nor samples; "
    "call prof.step() after each iteration, and capture again."
)


def _each(compared: Compared) -> str:
    return f" ({duration(compared.time.before_us)} per {compared.unit})" if compared.time else ""


def _differs(compared: Compared, total: Quantity) -> str:
    """``Faster: 175 → 140 ms per step (one run each: −20%, 95% interval −34% to −7%); the data wait fell by 98%``: the
    interval is the total's, and behind a reason it would read as the reason's.
    """
    sure = _doubt(compared, total) if compared.runs == 1 else with_interval(total)
    reasons, besides = _reasons(compared, total)
    moved = f"{_against(compared, total)}{setting_words(compared.settings)}{besides}"
    head = f"{total.outcome.capitalize()}{compared.within}"
    return f"{head}: {_times(total, compared.unit)} ({sure}); {listed(reasons)}.{moved}"


def _against(compared: Compared, total: Quantity) -> str:
    """Which part of the training thread's time went the other way, by more than its own interval explains."""
    for part in compared.parts:
        bounds, whole = part.interval, max(total.before_us or 0.0, total.after_us or 0.0)
        moved = (difference_us(part) or 0.0) * (-1 if total.outcome == "slower" else 1)
        if part.name not in OF_THREAD or bounds is None or moved <= SAID_PART * whole:
            continue
        if bounds.low > 0 or (bounds.high is not None and bounds.high < 0):
            verb = ("rose", "risen") if total.outcome == "faster" else ("fell", "fallen")
            said = verb[0] if part.significant else f"may have {verb[1]}"
            sure = "" if part.significant else "; not significant among all parts"
            return f" But the {part.title} {said}: {pair(part)} ({with_interval(part)}{sure})."
    return ""


def _doubt(compared: Compared, total: Quantity) -> str:
    """Why the total of single runs is uncertain, by its one main reason."""
    why = WAITED if compared.sharing else "one run each"
    return f"{why}: {with_interval(total)}"


def _times(quantity: Quantity, unit: Unit) -> str:
    return f"{pair(quantity)} per {unit}"


def _reasons(compared: Compared, total: Quantity) -> tuple[list[str], str]:
    """What went the same way as the time, and what came and went: what has most of the difference first. A line of the
    training thread is no reason of what is mostly data wait: it follows in a sentence of its own.
    """
    slower = total.outcome == "slower"
    alike = [one for one in _noteworthy(compared) if (one.outcome in MORE) == slower or one.outcome in COME_AND_GONE]
    causes, lines = [*map(clause, alike)], _of_lines(compared, slower)
    mostly = mostly_data_wait(compared.parts, total)
    if mostly and not any(one.name == "data_wait" for one in alike):
        is_line = lines and not alike and not mostly.is_all
        return [mostly.text, *causes], f" In the training thread, {lines[0]}." if is_line else ""
    if not alike and lines:
        return [f"{lines[0]} {_in_thread(compared)}"], ""
    where = "" if compared.rank is None else " of this rank"
    nothing = f"no stage{where} explains it" if compared.settings else f"no stage{where} and no setting explains it"
    return causes or [nothing], ""


def _of_lines(compared: Compared, slower: bool) -> list[str]:
    """The line of the training thread that went furthest the way of the time."""
    alike = [line for line in _beyond_waiting(compared) if (line.change_us > 0) == slower]
    return [
        f"{line.name} takes {'at least ' if line.is_bound else ''}{duration(abs(line.change_us))} "
        f"{'more' if line.change_us > 0 else 'less'} per {compared.unit}"
        for line in alike[:1]
    ]


def _noteworthy(compared: Compared) -> list[Quantity]:
    """The data wait, else the part of the time that changed most; what the training thread waited for besides; and
    stages that changed, came or went, without those whose change is little beside the largest.

    A stage whose change is little of the time is left out: it is no news of the whole, and one that came or went a
    window may have by chance.
    """
    least = SAID_PART * _whole_us(compared)
    stages = [
        stage
        for stage in compared.stages
        if (stage.significant and (stage.calls is None or stage.calls.change_us is None or _moved_us(stage) >= least))
        or (stage.outcome in COME_AND_GONE and _moved_us(stage) >= least)
    ]
    largest = max(map(_moved_us, stages), default=0.0)
    return [*_main_part(compared), *[stage for stage in stages if _moved_us(stage) >= LITTLE * largest][:REASONS]]


def _whole_us(compared: Compared) -> float:
    """The time per unit, of the side that took more."""
    return max(compared.time.before_us or 0.0, compared.time.after_us or 0.0) if compared.time else 0.0


def _moved_us(stage: Quantity) -> float:
    """Per unit."""
    return abs((stage.calls and stage.calls.change_us) or 0.0)


def _main_part(compared: Compared) -> list[Quantity]:
    whole = _whole_us(compared)
    large = [
        part
        for part in compared.parts
        if part.kind == "part" and part.significant and moved_us(part) > SAID_PART * whole
    ]
    waits = [part for part in large if part.name == "data_wait"]
    large.sort(key=lambda part: -moved_us(part))
    own = [part for part in large if part.name.startswith(OWN)]
    others = [part for part in large if part.name not in ("rest", "idle:data_wait") and part not in own]
    return [*(waits or others[:1]), *own[:1]]


def _too_short(compared: Compared, total: Quantity) -> str:
    times = f"{_times(total, compared.unit)}{compared.within}{_known(total)}"
    if compared.sharing:
        waited = _waited(compared.sharing, compared.waiting or compared.sharing, total)
        return f"Not certain: {times}{waited}. For certainty {_for_certainty(compared)}."
    few = f" ({compared.too_few})" if compared.too_few else ""
    return f"Too short to compare: {times}. Record more steps{few}, or {_more_runs(compared)}."


def _more_runs(compared: Compared) -> str:
    return f"{'3 to 5' if compared.runs < 3 else 'more'} runs on each side"


def _for_certainty(compared: Compared) -> str:
    """No quieter machine is asked for where the loop itself may be what fills the CPUs."""
    quieter = "on a quieter machine (other programs used the CPUs), or " if compared.crowded else ""
    return f"capture {quieter}{_more_runs(compared)}"


def _likely(compared: Compared, total: Quantity, is_short: bool) -> str:
    """Where the time changed by more than the waiting for a CPU did, and a stage, a part or a line of it certainly went
    that way: ``Likely faster, not certain: 91.7 → 21.9 ms per sample (4.2x), about 28% of that by less waiting for a
    CPU.`` Of a total that is too uncertain to say an interval of that waiting is the reason; another's interval leans
    that way itself: more runs must not make less of a change that they confirm.
    """
    if not (compared.sharing if is_short else total.leans) or not total.before_us or not total.after_us:
        return ""
    changed = log(total.after_us / total.before_us)
    slower = changed > 0
    before, after = compared.waiting or compared.sharing or (0.0, 0.0)
    waited = (after - before) * (1 if slower else -1)
    alike = _alike(compared, total)
    if not alike or abs(changed) <= waited:
        return ""
    mostly = mostly_data_wait(compared.parts, total)
    return (
        f"Likely {'slower' if slower else 'faster'}{compared.within}, not certain: {_times(total, compared.unit)}"
        f"{f' ({ratio(exp(abs(changed)))})' if is_short else _known(total)}"
        f"{_by_waiting(waited, changed) if _is_told(waited) else ''}"
        f"{f'; {mostly.text}' if mostly else ''}.{setting_words(compared.settings)} Significant: {listed(alike)}. "
        f"{'Waiting for a CPU differs from run to run: for' if compared.sharing else 'For'} certainty "
        f"{_for_certainty(compared)}."
    )


def _alike(compared: Compared, total: Quantity) -> list[str]:
    """What certainly went the way of the time."""
    slower = (total.after_us or 0.0) > (total.before_us or 0.0)
    alike = [*map(clause, (one for one in _noteworthy(compared) if (one.outcome in MORE) == slower))]
    return alike or [f"{line} {_in_thread(compared)}" for line in _of_lines(compared, slower)]


def _in_thread(compared: Compared) -> str:
    return f"in the training thread{', by stack samples alone' if _doubt_of_lines(compared.parts) else ''}"


def _by_waiting(waited: float, changed: float) -> str:
    """Both as logarithms."""
    return f", about {waited / abs(changed):.0%} of that by {'more' if changed > 0 else 'less'} waiting for a CPU"


def _is_told(waited: float) -> bool:
    return waited > 0 and ratio(exp(waited)) != ratio(1.0)


def _beyond_waiting(compared: Compared) -> list[OwnLine]:
    """Lines that changed by more than waiting for a CPU may have made of them: their times have that in them. How far
    stages waited says by how many times, what the training thread waited by how much at most.
    """
    most = exp(Z_95 * max(compared.sharing or (0.0,)))
    # A side that is not known leaves what the other has as the most that it changed by.
    own = next((part for part in compared.parts if part.name == f"{OWN}no_cpu"), None)
    waited = (own.after_us or 0.0) - (own.before_us or 0.0) if own else 0.0
    return [
        line
        for line in compared.own_lines
        if line.times_us[1] > most * line.times_us[0]
        and abs(line.change_us) > (waited if line.change_us > 0 else -waited)
    ]


def _waited(sharing: tuple[float, float], waiting: tuple[float, float], total: Quantity) -> str:
    """How much of the change is by how far stages waited for a CPU."""
    before, after = sharing
    changed = log(total.after_us / total.before_us) if total.before_us and total.after_us else 0.0
    waited = (waiting[1] - waiting[0]) * (1 if changed > 0 else -1)
    if abs(changed) <= waited:
        return f"; {WAITED}, so two captures of the same program may differ by as much"
    if not _is_told(waited):
        told = f"{WAITED} and took {ratio(exp(before))} as long for it before, {ratio(exp(after))} after"
        return f"; {told}, which is none of the change but makes it uncertain"
    return f", {ratio(exp(abs(changed)))} as {'slow' if changed > 0 else 'fast'}{_by_waiting(waited, changed)}"


def _certain(compared: Compared) -> str:
    """Stands before what cannot be said of the whole."""
    named = _noteworthy(compared)
    return f"Significant: {listed([*map(clause, named)])}. " if named else ""


def _but(compared: Compared) -> str:
    named = _noteworthy(compared)
    return f" But {listed([*map(clause, named)])}." if named else ""


def _part_evidence(compared: Compared) -> list[Evidence]:
    known = [part for part in compared.parts if part.name in ("data_wait", "device_busy")]
    return [
        time(
            part.name,
            moved,
            f"{part.title} per {compared.unit}: {pair(part)} ({with_interval(part)})",
            whole=compared.unit,
        )
        for part in known
        if (moved := difference_us(part)) is not None
    ]


def _line_evidence(compared: Compared) -> list[Evidence]:
    unit, doubt, lines = compared.unit, _doubt_of_lines(compared.parts), _beyond_waiting(compared)
    return [time("own_line", line.change_us, line.text(unit) + doubt, whole=unit) for line in lines]


def _doubt_of_lines(parts: Sequence[Quantity]) -> str:
    """A line is judged by its stack samples alone; how far runs differ only the whole shows that it is part of."""
    doubtful = (one for one in parts if one.name == "rest" and one.outcome in ("not_significant", "too_short"))
    text = ", but the rest of the step as a whole did not change significantly ({})"
    return next((text.format(with_interval(rest)) for rest in doubtful), "")
