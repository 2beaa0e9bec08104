"""A comparison for a terminal or a log: sentence, numbers, stages, settings, in at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from tb_dataplugin.compare.parts import OWN
from tb_dataplugin.compare.quantity import NEEDS_RUNS, SIGNIFICANT
from tb_dataplugin.compare.verdict import OF_THREAD
from tb_dataplugin.export.harmless import harmless
from tb_dataplugin.export.paragraphs import fit, heading, more, noted, page, wrap
from tb_dataplugin.export.terminal import PLAIN, Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.brief import brief_names
from tb_dataplugin.units import TOO_WIDE, UNKNOWN, TimeUnit, change, in_unit, percent, plural, unit_for

MAX_STAGES, MAX_PARTS, MAX_LINES = 20, 12, 3
NAMES, SHORTEST_NAMES = 36, 24
NUMBERS = 9 + 9 + 10
"""Columns of a table: its longest and its shortest names, what follows them."""
SMALL = 0.01
"""Part of the time per unit, below which a part of it has no row."""
INTERVAL = "95% interval"
WORTH_A_LINE = 10
"""Samples of a stage, from which it is said that they are too few."""


def compare_text(comparison: pb.Comparison, style: Style = PLAIN, anyway: bool = False) -> str:
    """The comparison, one section below the other.

    Args:
        anyway: With the numbers of sides that are not comparable.
    """
    is_short = comparison.outcome == "not_comparable" and not anyway
    rest = (_anyway,) if is_short else (_time, _parts, _other_loaders, _stages, _lines, _settings, _diagnostics)
    comparison = harmless(comparison)
    return page((line for section in (_head, *rest) for line in section(comparison, style)), style)


def _head(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    for side, runs in (("before", comparison.before), ("after", comparison.after)):
        names = ", ".join(map(_place, runs))
        yield style.bold(fit(f"{side:<7}{plural(len(runs), 'run')}: {names}", columns()))
    yield style.rule * columns()
    yield from map(style.bold, wrap(comparison.sentence, ""))
    if comparison.outcome == "not_comparable":
        return
    for fact in comparison.evidence:
        yield from wrap(fact.text, "  ", "    ")


def _place(run: pb.ComparedRun) -> str:
    """Its name, below the folder that sets the sides apart: the one above those that its name has already."""
    name, of_name = brief_names([run.name])[run.name], PurePath(run.name).parent.parts
    folders = PurePath(run.files[0]).parent.parts if run.files else ()
    if of_name and folders[-len(of_name) :] != of_name:
        return name
    above = PurePath(*folders[: len(folders) - len(of_name)]).name
    return f"{above}/{name}" if above else name


def _anyway(_: pb.Comparison, __: Style) -> Iterator[str]:
    yield from wrap("--anyway shows the numbers of both sides all the same.", "  ")


OF_WINDOW: Final = "the window over its steps, with what lies between them"


def _time(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if not comparison.HasField("time"):
        return
    time = comparison.time
    yield ""
    name = "95% interval " if time.HasField("high") else ""
    changed = time.interval_text if time.outcome == "identical" else f"{change_text(time)}, {name}{time.interval_text}"
    unit, wide = unit_for((time.before_us, time.after_us)), max(28, len(time.title) + len(", before "))
    of_window = OF_WINDOW if comparison.unit == "step" else ""
    for side, value, note in (("before", time.before_us, of_window), ("after", time.after_us, changed)):
        yield from noted(f"  {f'{time.title}, {side}':<{wide}}{f'{in_unit(value, unit)} {unit.name}':>10}   ", note)
    if time.HasField("detectable") and time.outcome not in SIGNIFICANT:
        yield f"  {'smallest detectable change':<{wide}}{change(time.detectable):>10}"


def _parts(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    """The whole time by what the training thread did, again by what the device did, then the data wait by stage."""
    unit = unit_for(value for part in comparison.parts for value in (part.before_us, part.after_us))
    thread = [part for part in comparison.parts if part.name in OF_THREAD]
    by_stage = [part for part in comparison.parts if part.kind == "data_wait_by_stage"]
    own = [part for part in comparison.parts if part.name.startswith(OWN)]
    device = [part for part in comparison.parts if part not in thread and part not in by_stage and part not in own]
    whole = max(comparison.time.before_us, comparison.time.after_us)
    waiting = "Rest of the step: what held the training thread up, by stack samples"
    groups = (
        ("Training thread", thread),
        (waiting, own),
        ("Device, in the same time", device),
        ("Data wait by stage", by_stage),
    )
    for title, rows in groups:
        large = rows
        if rows is by_stage or rows is own:
            large = [row for row in rows if max(row.before_us, row.after_us) >= SMALL * whole]
        if large:
            yield from heading(f"{title}   {unit.name} per {comparison.unit}", style)
            yield from _table(large[:MAX_PARTS], unit, style)
            if len(large) < len(rows):
                left = f"and {len(rows) - len(large)} below {percent(SMALL)} of the time; --format json has them all"
                yield from wrap(left, "  ")


def _other_loaders(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    """In none of the times above."""
    rows = comparison.other_loaders[:MAX_PARTS]
    if rows:
        unit = unit_for(value for row in rows for value in (row.before_us, row.after_us))
        yield from heading(f"Other DataLoaders   data wait, {unit.name} per training step that iterates them", style)
        yield from _table(rows, unit, style)
        yield from more(len(comparison.other_loaders) - len(rows), "DataLoaders")


def _stages(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if not comparison.stages:
        return
    rows = comparison.stages[:MAX_STAGES]
    unit = unit_for(value for row in rows for value in (row.before_us, row.after_us))
    yield from heading(
        f"Stages   {unit.name} per call in a typical batch; CPU: thread CPU time, wall: self time", style
    )
    yield from _table(rows, unit, style)
    if any(row.calls.speed_adjusted for row in rows):
        yield from wrap("~: after, less what the machine's speed explains, by the other stages' times", "  ")
    yield from more(len(comparison.stages) - len(rows), "stages")


def _table(rows: Sequence[pb.Quantity], unit: TimeUnit, style: Style) -> Iterator[str]:
    """One line per quantity; two where the width has no room for its interval."""
    unsure = all(row.interval_text == NEEDS_RUNS for row in rows)
    if unsure:
        yield from wrap("a run has only the sum of each: an interval needs repeated runs", "  ")
    intervals = [INTERVAL, *(_interval(row) for row in rows)]
    beside, below = columns() - 2 - NUMBERS - 3 - max(map(len, intervals)), columns() - 2 - NUMBERS
    is_beside = beside >= SHORTEST_NAMES
    wide = min(NAMES, beside if is_beside else below)
    head = "" if unsure else f"{'change':>10}" + (f"   {INTERVAL}" if is_beside else "")
    yield f"  {'':<{wide}}{'before':>9}{'after':>9}{head}"
    for row, interval in zip(rows, intervals[1:], strict=True):
        before = in_unit(row.before_us if row.HasField("before_us") else None, unit)
        after = in_unit(row.after_us if row.HasField("after_us") else None, unit)
        name = style.paint(row.name.split("::")[0], f"{fit(row.title, wide):<{wide}}")
        changed = "" if unsure else f"{change_text(row):>10}" + (f"   {interval}" if is_beside else "")
        yield f"  {name}{before:>9}{after:>9}{changed}"
        if not unsure and not is_beside:
            yield from wrap(f"{INTERVAL}: {interval}", "      ", "        ")
        of_what = row.interval_text.partition("; ")[2]
        if of_what and row.outcome != "unknown":
            yield from wrap(of_what, "      ", "        ")
    yield from _signs(rows)


def _interval(row: pb.Quantity) -> str:
    """With what was measured, and a star where the change is significant."""
    marked = " *" if row.outcome in SIGNIFICANT else ""
    return f"{row.interval_text.partition('; ')[0]}{_measure(row)}{marked}"


def _signs(rows: Sequence[pb.Quantity]) -> Iterator[str]:
    """What signs and short words of a table mean."""
    if any(row.outcome in SIGNIFICANT for row in rows):
        yield from wrap("*: significant, all rows taken into account; an interval is for its row alone", "  ")
    if any(row.outcome == "too_short" for row in rows):
        yield from wrap(f"{TOO_WIDE}: the interval is wider than ±100%", "  ")
    for text in dict.fromkeys(
        row.interval_text for row in rows if row.outcome == "unknown" and "; " in row.interval_text
    ):
        yield from wrap(text.replace("; ", ": ", 1), "  ")


def _lines(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    """The functions that changed most of each stage, and their lines where those say more."""
    if not comparison.lines:
        return
    yield from heading(
        "Functions and lines   share of the time inside the stage, by stack samples; 95% interval", style
    )
    for part in comparison.lines[:MAX_PARTS]:
        if part.text and max(part.samples_before, part.samples_after) < WORTH_A_LINE:
            continue
        if part.text:
            yield from wrap(f"{part.name}: {part.text}", "  ", "    ")
            continue
        yield from wrap(
            f"{part.name}   {part.samples_before} stack samples before, {part.samples_after} after", "  ", "    "
        )
        for row in (*part.functions[:MAX_LINES], *part.lines[:MAX_LINES]):
            yield from wrap(f"{row.name}: {row.text}", "    ", "      ")
    if any(row.text.endswith("*") for part in comparison.lines for row in (*part.functions, *part.lines)):
        yield "  *: significant"


def change_text(row: pb.Quantity) -> str:
    """``"+12%"``; the outcome, or a dash, where there is no change to give."""
    if row.outcome in ("new", "gone"):
        return row.outcome
    return change(row.change) if row.HasField("change") and row.outcome != "too_short" else UNKNOWN


def _measure(row: pb.Quantity) -> str:
    named = {"cpu": " CPU", "wall": " wall"}.get(row.calls.measure, "")
    return named + ("~" if row.calls.speed_adjusted else "") + (" per sample" if row.calls.per_sample else "")


def _settings(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    yield from heading("Settings that changed", style)
    if not comparison.settings:
        yield "  none that was captured"
    for setting in comparison.settings:
        yield from noted(f"  {setting.title:<29} ", f"{setting.before} to {setting.after}")


def _diagnostics(comparison: pb.Comparison, style: Style) -> Iterator[str]:
    if comparison.diagnostics:
        yield from heading("Missing data and warnings", style)
    for note in comparison.diagnostics:
        yield from wrap(note.message, "  - ", "    ")
