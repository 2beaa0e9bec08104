"""A comparison for a terminal or a log: sentence, numbers, stages, settings, in at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.export.as_text import WIDTH, _fit, _heading, _wrap
from tb_dataplugin.export.harmless import harmless
from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import (
    TOO_WIDE,
    UNKNOWN,
    WIDEST_INTERVAL,
    change,
    duration,
    in_unit,
    interval,
    plural,
    unit_for,
)

MAX_STAGES, MAX_PARTS = 20, 12
NAMES = 36


def compare_text(comparison: pb.Comparison, style: Style = PLAIN) -> str:
    """The comparison, one section below the other."""
    sections = (_head, _time, _parts, _stages, _settings, _diagnostics)
    comparison = harmless(comparison)
    lines = [line for section in sections for line in section(comparison, style)]
    return style.legible("\n".join(line.rstrip() for line in lines))


def _head(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    for side, runs in (("before", comparison.before), ("after", comparison.after)):
        names = ", ".join(run.name for run in runs)
        yield style.bold(_fit(f"{side:<7}{plural(len(runs), 'run')}: {names}", WIDTH))
    yield style.rule * WIDTH
    yield from map(style.bold, _wrap(comparison.sentence, ""))
    for fact in comparison.evidence:
        yield from _wrap(fact.text, "  ", "    ")


def _time(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if not comparison.HasField("time"):
        return
    time = comparison.time
    yield ""
    changed = f"{change(time.change)}, 95% interval {_interval(time)}" if time.HasField("low") else change(time.change)
    for name, value, note in (("before", time.before_us, ""), ("after", time.after_us, changed)):
        yield f"  {f'time per {comparison.unit}, {name}':<28}{duration(value):>10}   {note}"
    if time.HasField("detectable"):
        smallest = change(time.detectable) if time.detectable <= WIDEST_INTERVAL else TOO_WIDE
        yield f"  {'smallest detectable change':<28}{smallest:>10}"


def _parts(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    parts = [part for part in comparison.parts if part.before_us or part.after_us]
    if not parts:
        return
    unit = unit_for(value for part in parts for value in (part.before_us, part.after_us))
    title = f"What the time went to   {unit.name} per {comparison.unit}; change: of the whole time before"
    yield from _heading(title, style)
    yield f"  {'':<{NAMES}}{'before':>9}{'after':>9}{'change':>10}   95% interval"
    parts.sort(key=lambda part: (part.by_stage, -max(part.before_us, part.after_us)))
    for part in parts[:MAX_PARTS]:
        before = in_unit(part.before_us if part.HasField("before_us") else None, unit)
        after = in_unit(part.after_us if part.HasField("after_us") else None, unit)
        changed = change(part.change) if part.HasField("change") else UNKNOWN
        name = _fit(part.title, NAMES)
        yield f"  {name:<{NAMES}}{before:>9}{after:>9}{changed:>10}   {_interval(part)}"


def _stages(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if not comparison.stages:
        return
    rows = comparison.stages[:MAX_STAGES]
    unit = unit_for(value for row in rows for value in (row.before_us, row.after_us))
    yield from _heading(f"Stages   mean self time per call in {unit.name}; change in a typical batch", style)
    yield f"  {'':<{NAMES}}{'before':>9}{'after':>9}{'change':>10}   95% interval"
    for row in rows:
        before = in_unit(row.before_us if row.HasField("before_us") else None, unit)
        after = in_unit(row.after_us if row.HasField("after_us") else None, unit)
        name = f"{_fit(row.stage, NAMES):<{NAMES}}"
        yield f"  {style.paint(row.stage.split('::')[0], name)}{before:>9}{after:>9}{_stage_change(row)}"
    if any(row.typical.significant for row in rows):
        yield "  *: significant, all comparisons taken into account"
    if any(row.speed_adjusted for row in rows):
        yield "  ~: less what the machine's speed explains, by the other stages' times"
    more = len(comparison.stages) - len(rows)
    if more:
        yield f"  and {more} more stages; --format json has them all"


def _stage_change(row: pb.StageDifference) -> str:
    if not row.HasField("typical"):
        return f"{row.outcome if row.outcome in ('new', 'gone') else UNKNOWN:>10}"
    marked = " *" if row.typical.significant else ""
    measure = ("CPU" if row.measure == "cpu" else "wall") + ("~" if row.speed_adjusted else "")
    return f"{change(row.typical.change):>10}   {_interval(row.typical)} {measure}{marked}"


def _settings(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    yield from _heading("Settings that changed", style)
    if not comparison.settings:
        yield "  none that was captured"
    for setting in comparison.settings:
        yield from _wrap(f"{setting.title:<28}{setting.before} to {setting.after}", "  ", " " * 30)


def _diagnostics(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if comparison.diagnostics:
        yield from _heading("Missing data and warnings", style)
    for note in comparison.diagnostics:
        yield from _wrap(note.message, "  - ", "    ")


def _interval(difference: pb.Difference | pb.PartDifference) -> str:
    return interval(difference.low, difference.high) if difference.HasField("low") else ""
