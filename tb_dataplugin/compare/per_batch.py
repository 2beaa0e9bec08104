"""Stages that run once per batch, where the batches of both sides differ in size: they are compared per sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_dataplugin.compare.sides import Run, StageFigures, stages_of

ABOUT_ONCE: Final = 1.5
"""Calls per batch, up to which a stage runs once for each: the window's edges cut off some, on either side."""

ByName = dict[str, StageFigures]


def figures_of(before: Sequence[Run], after: Sequence[Run]) -> tuple[list[list[ByName]], dict[str, str]]:
    """The stages of each run of both sides; and by name, of those that are per sample here, how that is said."""
    runs, sides = (before, after), [[stages_of(run) for run in side] for side in (before, after)]
    sizes = _sizes(runs)
    if sizes is None:
        return sides, {}
    everywhere = [
        (run, size, own)
        for side, size, stages in zip(runs, sizes, sides, strict=True)
        for run, own in zip(side, stages, strict=True)
    ]
    names = {
        name
        for name in set.intersection(*(set(own) for _, _, own in everywhere))
        if all(_is_once(own[name], size, run.units("sample")) for run, size, own in everywhere)
    }
    text = f"; per sample: a batch has {sizes[0]} before, {sizes[1]} after"
    for _, size, own in everywhere:
        own |= {name: _per_sample(own[name], size) for name in names}
    return sides, dict.fromkeys(names, text)


def _sizes(runs: tuple[Sequence[Run], Sequence[Run]]) -> tuple[int, int] | None:
    """Samples per batch; None where they are the same, differ within a side, or are not known."""
    sides = [{capture.loader.batch_size for run in side for capture in run.captures} for side in runs]
    if any(len(side) != 1 or not min(side) for side in sides):
        return None
    was, now = map(min, sides)
    return None if was == now else (was, now)


def _is_once(figures: StageFigures, size: int, samples: float | None) -> bool:
    """Per batch."""
    if figures.in_sample or not samples:
        return False
    return 1 / ABOUT_ONCE <= figures.calls * size / samples <= ABOUT_ONCE


def _per_sample(figures: StageFigures, size: int) -> StageFigures:
    typical = {
        measure: replace(figure, value=figure.value - math.log(size)) for measure, figure in figures.typical.items()
    }
    return replace(figures, calls=figures.calls * size, typical=typical)
