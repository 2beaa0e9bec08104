"""A comparison as Markdown: for the summary of a CI job, or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.quantity import SIGNIFICANT
from tb_dataplugin.export.compare_text import change_text
from tb_dataplugin.export.harmless import harmless
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, duration, plural

MAX_ROWS: Final = 12
_ACTIVE: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@])")
"""Characters that Markdown, or a site that shows it, acts on: names of stages come from traces."""


def compare_markdown(comparison: pb.Comparison, anyway: bool = False) -> str:
    comparison = harmless(comparison)
    sections = (_head,) if comparison.outcome == "not_comparable" and not anyway else (_head, _parts, _settings, _notes)
    return "\n".join(line for section in sections for line in section(comparison))


def _head(comparison: pb.Comparison) -> Iterator[str]:
    before, after = (plural(len(runs), "run") for runs in (comparison.before, comparison.after))
    yield f"### Data pipeline: {literal(comparison.sentence)}"
    yield ""
    yield f"{before} before, {after} after."
    if comparison.outcome == "not_comparable":
        return
    for fact in comparison.evidence:
        yield f"- {literal(fact.text)}"
    yield ""


def _parts(comparison: pb.Comparison) -> Iterator[str]:
    total = [comparison.time] if comparison.HasField("time") else []
    rows = [*total, *comparison.parts[:MAX_ROWS]]
    if rows:
        yield from _table(f"Per {comparison.unit}", rows)
    if comparison.stages:
        yield from _table("Stage, per call", comparison.stages[:MAX_ROWS])
        more = len(comparison.stages) - MAX_ROWS
        if more > 0:
            yield f"and {plural(more, 'more stage')}"
            yield ""


def _table(title: str, rows: Sequence[pb.Quantity]) -> Iterator[str]:
    yield f"| {title} | before | after | change | 95% interval |"
    yield "|---|---:|---:|---:|---|"
    for row in rows:
        before = duration(row.before_us) if row.HasField("before_us") else UNKNOWN
        after = duration(row.after_us) if row.HasField("after_us") else UNKNOWN
        per = ", per sample" if row.calls.per_sample else ""
        name, spoken = literal(row.title) + per, literal(row.interval_text.partition("; ")[0])
        cells = (f"**{name}**" if row.outcome in SIGNIFICANT else name, before, after, change_text(row), spoken)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _settings(comparison: pb.Comparison) -> Iterator[str]:
    for setting in comparison.settings:
        yield f"- {literal(setting.title)}: {literal(setting.before)} to {literal(setting.after)}"


def _notes(comparison: pb.Comparison) -> Iterator[str]:
    for note in comparison.diagnostics:
        yield f"- {literal(note.message)}"


def literal(text: str) -> str:
    """Shown as it is, in one line."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))
