"""Fills the comparison from what was found: logarithms become relative changes here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import expm1
from typing import Final

from tb_dataplugin.compare.noise import SHOWN, TIME_LUCK, Change, change
from tb_dataplugin.compare.parts import PartChange, compare_parts
from tb_dataplugin.compare.settings import SettingChange, compare_settings
from tb_dataplugin.compare.sides import (
    UNKNOWN_SHARING,
    Run,
    Unit,
    common_unit,
    group_runs,
    sharing,
    stages_of,
    time_figure,
    time_per_unit,
)
from tb_dataplugin.compare.stages import StageChange, Typical, compare_stages
from tb_dataplugin.compare.verdict import ALARM, TimeChange, judge, relative
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build import diagnostic_report
from tb_dataplugin.report.build_findings import evidence_report
from tb_dataplugin.units import magnitude
from tb_dataplugin.words import SETTINGS, label_of

SCHEMA_VERSION = 2

BUSY: Final = 0.1
"""Sharing of the machine (a logarithm) from which a diagnostic says so."""


def compare(before: Sequence[pb.Capture], after: Sequence[pb.Capture]) -> pb.Comparison:
    """Compare two sides of one or more captures each; several on a side are repeated runs."""
    (first, left), (second, right) = group_runs(before), group_runs(after)
    unit = common_unit((*first, *second))
    shared = max(sharing(stages_of(run)) for run in (*first, *second))
    time = _compare_time(first, second, unit, shared)
    stages = compare_stages(first, second, unit, shared)
    parts = compare_parts(first, second, unit, shared)
    settings = compare_settings(first, second)
    verdict = judge(time, unit, stages, parts, settings)
    return pb.Comparison(
        schema_version=SCHEMA_VERSION,
        before=(_run(run, unit) for run in first),
        after=(_run(run, unit) for run in second),
        outcome=verdict.outcome,
        sentence=verdict.sentence,
        evidence=map(evidence_report, verdict.evidence),
        unit=unit,
        time=_time(time) if time else None,
        parts=map(_part, parts),
        stages=map(_stage, stages),
        settings=map(_setting, settings),
        diagnostics=map(diagnostic_report, (*left, *right, *_notes(first, second, shared))),
    )


def _compare_time(before: Sequence[Run], after: Sequence[Run], unit: Unit, shared: float) -> TimeChange | None:
    sides = [[time_figure(run, unit) for run in runs] for runs in (before, after)]
    known = [[figures for figures in side if figures is not None] for side in sides]
    means = [[time_per_unit(run, unit) for run in runs] for runs in (before, after)]
    if any(len(figures) < len(side) for figures, side in zip(known, sides, strict=True)):
        return None
    first, second = (sum(mean for mean in side if mean is not None) / len(side) for side in means)
    return TimeChange(first, second, change(known[0], known[1], TIME_LUCK, shared))


def _notes(before: Sequence[Run], after: Sequence[Run], shared: float) -> Iterator[Diagnostic]:
    if min(len(before), len(after)) < 3:
        message = (
            "How much equal runs of this pipeline differ is mostly assumed (3% of the time per sample, 4% "
            "of a stage's): give at least three captures, each of a separate run, on each side"
        )
        yield Diagnostic("capture", "few_runs", 1, message)
    if shared > BUSY and shared != UNKNOWN_SHARING:
        message = (
            f"On one side stages took {magnitude(expm1(shared))} longer than they computed: other programs used the "
            "CPUs. Wall times are compared with a wider interval for that; CPU times are not affected"
        )
        yield Diagnostic("capture", "shared_machine", 1, message)
    modes = {run.mode for run in (*before, *after)}
    if len(modes) > 1:
        message = f"The captures are of different kinds ({', '.join(sorted(modes))}); their times mean different things"
        yield Diagnostic("capture", "different_modes", 1, message)


def _run(run: Run, unit: Unit) -> pb.ComparedRun:
    files = (capture.file for capture in run.captures)
    return pb.ComparedRun(name=run.name, files=files, mode=run.mode, time_us=time_per_unit(run, unit))


def _interval(change: Change) -> tuple[float | None, float | None]:
    reach = change.reach(SHOWN)
    return (None, None) if reach is None else (change.value - reach, change.value + reach)


def _difference(
    before_us: float, after_us: float, change: Change, reach: float | None, significant: bool
) -> pb.Difference:
    low, high = _interval(change)
    return pb.Difference(
        before_us=before_us,
        after_us=after_us,
        change=relative(change.value),
        low=None if low is None else relative(low),
        high=None if high is None else relative(high),
        detectable=None if reach is None else relative(reach),
        significant=significant,
    )


def _time(time: TimeChange) -> pb.Difference:
    reach = time.change.reach(ALARM)
    return _difference(time.before_us, time.after_us, time.change, reach, time.change.probability <= ALARM)


def _part(part: PartChange) -> pb.PartDifference:
    low, high = _interval(part.change) if part.change else (None, None)
    return pb.PartDifference(
        name=part.name,
        title=part.title,
        by_stage=part.by_stage,
        before_us=part.before_us,
        after_us=part.after_us,
        change=part.change.value if part.change else None,
        low=low,
        high=high,
    )


def _stage(stage: StageChange) -> pb.StageDifference:
    before, after, typical = stage.before, stage.after, stage.typical
    return pb.StageDifference(
        stage=stage.name,
        before_us=before.per_call_us if before else None,
        after_us=after.per_call_us if after else None,
        before_calls=before.calls if before else None,
        after_calls=after.calls if after else None,
        change_us=stage.change_us,
        typical=_typical(typical, stage) if typical else None,
        measure=typical.measure if typical else "",
        outcome=_stage_outcome(stage),
        speed_adjusted=typical is not None and typical.speed_adjusted,
    )


def _typical(typical: Typical, stage: StageChange) -> pb.Difference:
    return _difference(typical.before_us, typical.after_us, typical.change, stage.reach, stage.significant)


def _stage_outcome(stage: StageChange) -> str:
    if stage.before is None:
        return "new"
    if stage.after is None:
        return "gone"
    if not stage.significant or stage.typical is None:
        return "not_significant"
    return "slower" if stage.typical.change.value > 0 else "faster"


def _setting(setting: SettingChange) -> pb.SettingChange:
    title = label_of(SETTINGS, setting.name)
    return pb.SettingChange(name=setting.name, title=title, before=setting.before, after=setting.after)
