"""The order in which the stages of a sample follow one another, and how each changes the size of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_dataplugin.analyses.stages import Path, StageRow


@dataclass(frozen=True, slots=True)
class Step:
    """`before`: the stages that come earlier under the same parent. `ratio`: bytes out over bytes in, None: unknown."""

    row: StageRow
    before: tuple[StageRow, ...]
    ratio: float | None


def sequences(rows: Sequence[StageRow]) -> list[tuple[Step, ...]]:
    """Per parent, the stages under it that turn one value into the next, by their mean place in it."""
    children: dict[Path, list[StageRow]] = {}
    for row in rows:
        if row.offset_ns is not None and row.stage.kind in ("read", "decode", "transform"):
            children.setdefault(row.path[:-1], []).append(row)
    return [_steps(sorted(found, key=lambda row: (row.offset_ns or 0.0, row.path))) for found in children.values()]


def _steps(rows: list[StageRow]) -> tuple[Step, ...]:
    sizes = [None if row.bytes is None else row.bytes / row.count for row in rows]
    found = []
    for place, row in enumerate(rows):
        earlier = next((size for size in reversed(sizes[:place]) if size), None)
        size = sizes[place]
        comes_from_value = place > 0 and rows[place - 1].stage.kind != "read"  # a file's bytes are compressed
        ratio = size / earlier if size and earlier and comes_from_value else None
        found.append(Step(row, tuple(rows[:place]), ratio))
    return tuple(found)
