"""A picture as the columns that travel: starts as steps from box to box, labels numbered anew, spans joined or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.timeline.counters import Points
from tb_dataplugin.timeline.lanes import Label, LaneSource, TimelineSource
from tb_dataplugin.timeline.pyramid import Boxes
from tb_dataplugin.timeline.slicing import cut_name, picture_of

WHOLE: Final = 100
"""Percent of a box that one span covers."""


@dataclass(frozen=True, slots=True)
class BoxColumns:
    """The boxes of a lane, row by row; `counts` is how many each row has. Starts are relative, as in `Lane.start_ns`.

    `merged` and `covered` are empty where every box is one span, `index` where none is a sample.
    """

    counts: list[int]
    start_ns: list[int]
    duration_ns: list[int]
    label: list[int]
    merged: list[int]
    covered: list[int]
    index: list[int]


@dataclass(frozen=True, slots=True)
class LineColumns:
    """One line of a counter. `low` and `high` are empty where no point merges several values."""

    name: str
    time_ns: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, slots=True)
class LaneColumns:
    source: LaneSource
    title: str
    boxes: BoxColumns
    lines: tuple[LineColumns, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """The window `window` of a timeline. The boxes' labels index `labels`."""

    window: Window
    lanes: tuple[LaneColumns, ...]
    labels: tuple[Label, ...]


def encode_slice(source: TimelineSource, start_us: float, end_us: float, width: int) -> Slice:
    """What `width` pixels can show of ``[start_us, end_us)``."""
    start_ns = round(start_us * 1e3)
    window = Window(start_ns, max(round(end_us * 1e3), start_ns + 1))
    picture = picture_of(source, window, width)
    number = np.zeros(len(source.labels), dtype=np.int64)
    number[list(picture.used)] = np.arange(len(picture.used))
    lanes = tuple(
        LaneColumns(
            source=lane,
            title=cut_name(lane.title),
            boxes=_boxes(rows, number, window.start_ns),
            lines=tuple(_line(line.name, at, window.start_ns) for line, at in zip(lane.lines, points, strict=True)),
        )
        for lane, rows, points in zip(source.lanes, picture.rows, picture.lines, strict=True)
    )
    return Slice(window, lanes, tuple(_cut_label(source.labels[used]) for used in picture.used))


def _cut_label(label: Label) -> Label:
    return Label(cut_name(label.text), label.token)


def _boxes(rows: Sequence[Boxes], number: Int64Array, start_ns: int) -> BoxColumns:
    columns = BoxColumns([], [], [], [], [], [], [])
    has_joined = any(int(boxes.count.max(initial=1)) > 1 for boxes in rows)
    has_samples = any(bool((boxes.index >= 0).any()) for boxes in rows)
    for boxes in rows:
        length = boxes.end_ns - boxes.start_ns
        columns.counts.append(len(boxes))
        columns.start_ns.extend(np.diff(boxes.start_ns, prepend=start_ns).tolist())
        columns.duration_ns.extend(length.tolist())
        columns.label.extend(number[boxes.label].tolist())
        if has_joined:
            columns.merged.extend(boxes.count.tolist())
            share = np.minimum(WHOLE * boxes.busy_ns // np.maximum(length, 1), WHOLE)
            columns.covered.extend(np.where(boxes.count > 1, share, WHOLE).tolist())
        if has_samples:
            columns.index.extend(boxes.index.tolist())
    return columns


def _line(name: str, points: Points, start_ns: int) -> LineColumns:
    has_spread = bool((points.high > points.low).any())
    return LineColumns(
        name=name,
        time_ns=np.diff(points.time_ns, prepend=start_ns).tolist(),
        mean=_rounded(points.mean),
        low=_rounded(points.low) if has_spread else [],
        high=_rounded(points.high) if has_spread else [],
    )


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [rounded(value) for value in values.tolist()]


def rounded(value: float) -> float:
    """To six digits: more than a line can show, and so many that a word of three is not rounded up twice."""
    return float(f"{value:.6g}")
