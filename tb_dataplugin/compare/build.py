"""Fills the comparison from what was found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.build_flames import flame_report
from tb_dataplugin.compare.compared import Compared
from tb_dataplugin.compare.crowded import CODE, crowded_sides
from tb_dataplugin.compare.cut_off import CODE as CUT_OFF
from tb_dataplugin.compare.cut_off import cut_off_sides
from tb_dataplugin.compare.elsewhere import elsewhere
from tb_dataplugin.compare.epochs import has_iter_on_one_side, is_within_epoch, with_like_starts
from tb_dataplugin.compare.flames import compare_flames
from tb_dataplugin.compare.lines import LineChange, LinesChange, change_text, compare_lines
from tb_dataplugin.compare.named import of_one_loader
from tb_dataplugin.compare.not_judged import MUCH, left_out, not_judged
from tb_dataplugin.compare.other_loaders import OtherWait, compare_others
from tb_dataplugin.compare.other_settings import compare_other_settings, title_of
from tb_dataplugin.compare.own_lines import own_lines
from tb_dataplugin.compare.parts import compare_parts
from tb_dataplugin.compare.programs import are_identical, why_not_comparable
from tb_dataplugin.compare.promises import promises
from tb_dataplugin.compare.quantity import Quantity, StageCalls
from tb_dataplugin.compare.recorded import recorded_on_one_side, unknown_on_one_side
from tb_dataplugin.compare.settings import SettingChange, compare_settings
from tb_dataplugin.compare.sides import (
    BUSY,
    RANKS,
    UNKNOWN_SHARING,
    Run,
    Unit,
    common_unit,
    group_runs,
    sharing,
    stages_of,
    time_per_unit,
    too_few_steps,
    waiting,
)
from tb_dataplugin.compare.stages import compare_stages
from tb_dataplugin.compare.total import compare_time
from tb_dataplugin.compare.verdict import Outcome, judge
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build import diagnostic_report
from tb_dataplugin.report.build_findings import evidence_report
from tb_dataplugin.units import listed, percent, ratio

SCHEMA_VERSION = 2

RECORDED: Final = 0.01
"""Share of the time that recording took for stages of one side only, from which a diagnostic says so."""


def compare(before: Sequence[pb.Capture], after: Sequence[pb.Capture]) -> pb.Comparison:
    """Compare two sides of one or more captures each; several on a side are repeated runs."""
    before, after = of_one_loader(before, after)
    (first, left), (second, right) = group_runs(before), group_runs(after)
    first, second = with_like_starts(first, second)
    within = is_within_epoch(first, second)
    unit = common_unit((*first, *second))
    each = [max(sharing(stages_of(run)) for run in side) for side in (first, second)]
    shared = max(each)
    recorded = recorded_on_one_side(first, second, unit)
    time, stages = (
        compare_time(first, second, unit, shared, recorded, within),
        compare_stages(first, second, unit, shared),
    )
    settings = [*compare_settings(first, second), *compare_other_settings(first, second)]
    others = compare_others(first, second, math.hypot(shared, recorded))
    compared = Compared(
        unit=unit,
        runs=max(len(first), len(second)),
        sharing=(each[0], each[1]) if _is_shared(shared) else None,
        waiting=(_waiting(first), _waiting(second)),
        same_content=are_identical(before, after),
        why_not=why_not_comparable(first, second),
        time=time,
        parts=compare_parts(first, second, unit, math.hypot(shared, recorded)),
        stages=stages,
        settings=settings,
        not_judged=not_judged(first, second, unit, stages, settings),
        within_epoch=within,
        promises=(*promises(first, second, unit, time, stages), *elsewhere(first, second, unit, others)),
        own_lines=own_lines(first, second, unit, time),
        crowded=crowded_sides(first, second),
        cut_off=cut_off_sides(first, second),
        too_few=too_few_steps(first, second),
        others=others,
        rank=first[0].captures[0].rank if any(note.code == RANKS for note in (*left, *right)) else None,
    )
    verdict = judge(compared)
    notes = (*_once(left, right), *_notes(first, second, each, verdict.outcome, compared.others))
    notes += (*_iter_note(first, second), *_recorded_note(recorded, unit), *_unknown_note(first, second))
    if verdict.outcome != "identical":
        notes = (*_doubts(compared), *notes)
    return pb.Comparison(
        schema_version=SCHEMA_VERSION,
        before=(_run(run, unit) for run in first),
        after=(_run(run, unit) for run in second),
        outcome=verdict.outcome,
        sentence=verdict.sentence,
        evidence=map(evidence_report, verdict.evidence),
        unit=unit,
        time=_quantity(_with_basis(compared.time, verdict.basis)) if compared.time else None,
        parts=map(_quantity, compared.parts),
        stages=map(_quantity, compared.stages),
        settings=[_setting(setting) for setting in compared.settings if setting.is_known],
        lines=map(_lines, compare_lines(first, second)),
        diagnostics=map(diagnostic_report, notes),
        other_loaders=[_quantity(other.quantity) for other in compared.others],
        flames=[flame_report(flame, left_out(first, second).in_graph) for flame in compare_flames(first, second, unit)],
    )


def _doubts(compared: Compared) -> Iterator[Diagnostic]:
    """The first thing to know of a side."""
    if compared.cut_off:
        message = f"{compared.cut_off}. If a job is still writing it, wait; else capture again"
        yield Diagnostic("capture", CUT_OFF, 1, message[0].upper() + message[1:])
    if compared.crowded:
        message = f"{compared.crowded}. Compare captures of a quieter machine: a slowdown is not told from their load"
        yield Diagnostic("capture", CODE, 1, message[0].upper() + message[1:])


def _once(left: Sequence[Diagnostic], right: Sequence[Diagnostic]) -> Iterable[Diagnostic]:
    """What is said of both sides."""
    return {note.message: note for note in (*left, *right)}.values()


def _with_basis(time: Quantity, basis: str) -> Quantity:
    """The total says beside its interval what the sentence rests on instead."""
    return replace(time, interval_text=f"{time.interval_text}; {basis}") if basis else time


def _notes(
    before: Sequence[Run], after: Sequence[Run], sides: Sequence[float], outcome: Outcome, others: Sequence[OtherWait]
) -> Iterator[Diagnostic]:
    """What the intervals rest on, but for what the sentence has said already.

    Args:
        sides: how long stages waited for a CPU (`sharing`), before and after.
    """
    if outcome == "identical":
        return
    shared = max(sides)
    yield from _left_out(before, after, others)
    if not common_unit((*before, *after)):
        message = "One side has neither steps nor samples, so there are no times to compare: only settings"
        yield Diagnostic("capture", "no_unit", 1, message)
        return
    if min(len(before), len(after)) < 3 and outcome != "too_short" and not _is_shared(shared):
        message = (
            "How much equal runs of this pipeline differ is mostly assumed (3% of the time per sample, 4% "
            "of a stage's): give at least three captures, each of a separate run, on each side"
        )
        yield Diagnostic("capture", "few_runs", 1, message)
    if _is_shared(shared):
        times = ", ".join(
            f"{side} they took {ratio(math.exp(share))} as long"
            for side, share in zip(("before", "after"), sides, strict=True)
            if _is_shared(share)
        )
        message = (
            f"Stages waited for a CPU: {times}. Wall times are compared with a wider interval "
            "for that. CPU times may be longer, too, by caches, hyperthreads and clock speed that are shared: where "
            "those of the other stages changed, the intervals allow for as much"
        )
        yield Diagnostic("capture", "waited_for_cpu", 1, message)
    if shared == UNKNOWN_SHARING:
        message = (
            "Whether stages waited for a CPU is unknown: plain captures do not record it. The "
            "intervals hold on an otherwise idle machine only"
        )
        yield Diagnostic("capture", "unknown_sharing", 1, message)
    modes = {run.mode for run in (*before, *after)}
    if len(modes) > 1:
        message = f"The captures are of different kinds ({', '.join(sorted(modes))}); their times mean different things"
        yield Diagnostic("capture", "different_modes", 1, message)


def _iter_note(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Diagnostic]:
    if has_iter_on_one_side(before, after):
        message = (
            "Starting DataLoader workers (iter(loader)) is data wait in some captures and training step in others, as "
            "they were made by different versions or loops: capture both sides alike before you compare these two"
        )
        yield Diagnostic("capture", "iter_on_one_side", 1, message)


def _recorded_note(recorded: float, unit: Unit) -> Iterator[Diagnostic]:
    if recorded >= RECORDED:
        message = (
            "On one side more was recorded in stages: their spans, and operators in the training thread, where torch's "
            f"profiler records each (in DataLoader workers it does not). That is about {percent(recorded)} of that "
            f"side's time per {unit}, and no change of the program's. The intervals allow for it"
        )
        yield Diagnostic("capture", "profiler_on_one_side", 1, message)


def _unknown_note(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Diagnostic]:
    names = unknown_on_one_side(before, after)
    if names:
        message = (
            f"What torch's profiler took to record the operators of {listed(names)} is not known on one side, and is "
            "part of its times there: how much of that change is no change of the program's is not known either, and "
            "the intervals do not allow for it"
        )
        yield Diagnostic("capture", "profiler_on_one_side", 1, message)


def _left_out(before: Sequence[Run], after: Sequence[Run], others: Sequence[OtherWait]) -> Iterator[Diagnostic]:
    """What is too little to stand below the sentence."""
    left = left_out(before, after, with_others=False)
    texts = [left.text] if left.text and left.share < MUCH else []
    for text in (*texts, *(other.text for other in others if not other.is_said)):
        yield Diagnostic("capture", "told_apart", 1, f"{text[0].upper()}{text[1:]}")


def _waiting(runs: Sequence[Run]) -> float:
    """Of the run that has most."""
    return max(waiting(stages_of(run)) for run in runs)


def _is_shared(shared: float) -> bool:
    return shared > BUSY and shared != UNKNOWN_SHARING


def _run(run: Run, unit: Unit) -> pb.ComparedRun:
    files = (capture.file for capture in run.captures)
    return pb.ComparedRun(name=run.name, files=files, mode=run.mode, time_us=time_per_unit(run, unit))


def _quantity(quantity: Quantity) -> pb.Quantity:
    interval, calls = quantity.interval, quantity.calls
    return pb.Quantity(
        kind=quantity.kind,
        name=quantity.name,
        title=quantity.title,
        before_us=quantity.before_us,
        after_us=quantity.after_us,
        change=quantity.change,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        outcome=quantity.outcome,
        interval_text=quantity.interval_text,
        detectable=quantity.detectable,
        calls=_calls(calls) if calls else None,
    )


def _calls(calls: StageCalls) -> pb.StageCalls:
    return pb.StageCalls(
        before=calls.before,
        after=calls.after,
        change_us=calls.change_us,
        measure=calls.measure,
        speed_adjusted=calls.speed_adjusted,
        per_sample=calls.per_sample,
    )


def _lines(found: LinesChange) -> pb.LinesChange:
    return pb.LinesChange(
        name=found.name,
        samples_before=found.samples_before,
        samples_after=found.samples_after,
        functions=map(_line, found.functions),
        lines=map(_line, found.lines),
        text=found.text,
    )


def _line(found: LineChange) -> pb.LineChange:
    return pb.LineChange(
        name=found.name,
        place_before=found.place_before,
        place_after=found.place_after,
        before=found.before,
        after=found.after,
        low=found.bounds.low,
        high=found.bounds.high,
        outcome=found.outcome,
        text=change_text(found),
    )


def _setting(setting: SettingChange) -> pb.SettingChange:
    title = title_of(setting)
    return pb.SettingChange(name=setting.name, title=title, before=setting.before, after=setting.after)
