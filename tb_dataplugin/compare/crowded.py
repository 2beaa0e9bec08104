"""Sides that were captured while other programs used the CPUs: what a comparison says of time is then no certainty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb

CODE: Final = "crowded_side"
"""Of the diagnostic that says so."""


def crowded_sides(before: Sequence[Run], after: Sequence[Run]) -> str:
    """``other programs used 0.814 CPUs of 2, and none was free (before)``; "" where neither side's report says so."""
    sides = (f"{text} ({name})" for name, side in (("before", before), ("after", after)) for text in _said(side))
    return "; ".join(sides)


def is_crowded(comparison: pb.Comparison) -> bool:
    return any(each.code == CODE for each in comparison.diagnostics)


def _said(side: Sequence[Run]) -> Iterator[str]:
    """Of the first of its captures that is doubtful for that, what its report says first."""
    doubts = (doubt for run in side for capture in run.captures for doubt in capture.doubts)
    first = next((doubt.sentence for doubt in doubts if doubt.code == "busy_machine"), "")
    if first:
        text = first.split(". ")[0]
        yield text[0].lower() + text[1:]
