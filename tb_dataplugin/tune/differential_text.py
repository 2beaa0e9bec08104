"""What `differential` says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tb_dataplugin.export.paragraphs import page, title, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.shown import shown
from tb_dataplugin.tune.differential import Differential, Range, mean_of
from tb_dataplugin.tune.server import Program
from tb_dataplugin.units import duration, in_unit, more_or_less, plural, significant, unit_for

SCHEMA_VERSION: Final = 1
NAMES: Final = 27
"""Columns."""
ROWS: Final = (
    ("memory", "batches from memory"),
    ("warm", "files in the page cache"),
    ("cold", "files read from storage"),
)


def as_text(made: Differential, program: Program, size: int | None, notes: Sequence[str], style: Style) -> str:
    return page(_lines(made, program, size, notes, style), style)


def _lines(made: Differential, program: Program, size: int | None, notes: Sequence[str], style: Style) -> Iterator[str]:
    unit = unit_for(1e6 * second for _, seconds in _rows(made) for second in seconds)
    yield from title(f"differential   {shown(program.target)}", style)
    table = (Column(f"step, {unit.name}", 11), Column("  95% interval", 21, 1, "<"), Column("samples/s", 10, 2))
    kept = with_room(table, columns() - 2 - NAMES)
    rounds = plural(len(made.warm), "round")
    yield f"  {f'the same samples, {rounds}':<{NAMES}}{heads(kept)}"
    for name, seconds in _rows(made):
        step = mean_of(seconds)
        ends = f"  {in_unit(1e6 * max(0.0, step.low), unit)} to {in_unit(1e6 * step.high, unit)}"
        texts = (in_unit(1e6 * step.value, unit), ends, "" if size is None else significant(size / step.value))
        numbers = cells(kept, {column.head: text for column, text in zip(table, texts, strict=True)})
        yield f"  {name:<{NAMES}}{numbers}"
    yield ""
    yield from wrap(_adds("Loading from the page cache", made.loading_s, "the step alone"), "")
    if made.reading_s is not None:
        yield from wrap(_adds("Reading from storage", made.reading_s, "that"), "")
    yield from wrap(program.step_text, "")
    for note in notes:
        yield from wrap(shown(note), "")


def _rows(made: Differential) -> Iterator[tuple[str, Sequence[float]]]:
    for name, words in ROWS:
        seconds: Sequence[float] = getattr(made, name)
        if seconds:
            yield words, seconds


def _adds(what: str, more: Range, to: str) -> str:
    if not more.is_more:
        ends = f"{more_or_less(1e6 * more.low)} to {more_or_less(1e6 * more.high)}"
        return f"{what}: no significant difference to {to} (95% interval {ends})."
    ends = f"{duration(1e6 * more.low)} to {duration(1e6 * more.high)}"
    return f"{what} adds {duration(1e6 * more.value)} per step to {to} (95% interval {ends})."


def as_json(made: Differential, program: Program, size: int | None, notes: Sequence[str]) -> str:
    """docs/tune.md; what is not known is absent."""
    steps: dict[str, Any] = {}
    for name, _ in ROWS:
        if seconds := getattr(made, name):
            steps[name] = {"step_us": _us(mean_of(seconds))}
            if size is not None:
                steps[name]["samples_per_s"] = size / mean_of(seconds).value
    answer: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "target": program.target,
        "step": {"ms": program.step_ms, "cpu": program.step_cpu, "device": program.device},
        "rounds": len(made.warm),
        "steps": steps,
        "loading_us": _us(made.loading_s),
    }
    if made.reading_s is not None:
        answer["reading_us"] = _us(made.reading_s)
    return json.dumps({**answer, "notes": list(notes)}, indent=2)


def _us(seconds: Range) -> dict[str, float]:
    return {"value": 1e6 * seconds.value, "low": 1e6 * seconds.low, "high": 1e6 * seconds.high}
