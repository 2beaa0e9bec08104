"""The order in which the stages of a sample follow one another, and how each changes the size of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.findings.signals import StageCalls


@dataclass(frozen=True, slots=True)
class Step:
    """`before`: the stages that come earlier under the same parent. `ratio`: bytes out over bytes in, None: unknown."""

    calls: StageCalls
    before: tuple[StageCalls, ...]
    ratio: float | None


def sequences(stages: Sequence[StageCalls]) -> list[tuple[Step, ...]]:
    """Per parent, the stages under it that turn one value into the next, by their mean place in it."""
    children: dict[Path, list[StageCalls]] = {}
    for calls in stages:
        if calls.offset_us is not None and calls.stage.kind in ("read", "decode", "transform"):
            children.setdefault(calls.path[:-1], []).append(calls)
    return [_steps(sorted(rows, key=lambda row: (row.offset_us or 0.0, row.path))) for rows in children.values()]


def _steps(rows: list[StageCalls]) -> tuple[Step, ...]:
    sizes = [None if row.bytes is None else row.bytes / row.count for row in rows]
    steps = []
    for place, row in enumerate(rows):
        earlier = next((size for size in reversed(sizes[:place]) if size), None)
        size = sizes[place]
        comes_from_value = place > 0 and rows[place - 1].stage.kind != "read"  # a file's bytes are compressed
        ratio = size / earlier if size and earlier and comes_from_value else None
        steps.append(Step(row, tuple(rows[:place]), ratio))
    return tuple(steps)
