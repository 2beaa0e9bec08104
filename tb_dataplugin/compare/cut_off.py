"""Sides with a file that is cut off: what its missing end had is in no row, steps and device activity included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_dataplugin.compare.sides import Run, is_cut
from tb_dataplugin.report import report_pb2 as pb

CODE: Final = "cut_off_side"
"""Of the diagnostic that says so."""


def cut_off_sides(before: Sequence[Run], after: Sequence[Run]) -> str:
    """``a file is cut off (after), so only what it still has is compared``; "" where none is."""
    sides = [[capture for run in side for capture in run.captures] for side in (before, after)]
    cut = [[capture for capture in side if is_cut(capture)] for side in sides]
    names = " and ".join(name for name, side in zip(("before", "after"), cut, strict=True) if side)
    if not names:
        return ""
    many = sum(map(len, cut)) > 1
    what = f"{'files are' if many else 'a file is'} cut off ({names})"
    lost_device = any(capture.devices for side in sides for capture in side) and not all(
        capture.devices for side in cut for capture in side
    )
    return f"{what}, so only what {'they' if many else 'it'} still {'have' if many else 'has'} is compared" + (
        ", and nothing of the device" if lost_device else ""
    )


def is_cut_off(comparison: pb.Comparison) -> bool:
    return any(each.code == CODE for each in comparison.diagnostics)
