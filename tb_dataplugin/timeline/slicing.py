"""The picture of a slice of a timeline: what `width` pixels can show, in a bounded number of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.model.intervals import Window
from tb_dataplugin.timeline.counters import MAX_POINTS, Points, slice_line
from tb_dataplugin.timeline.lanes import Label, TimelineSource
from tb_dataplugin.timeline.pyramid import Boxes, slice_row

MERGE_BELOW_PIXELS = 2.0
MAX_PICTURE_BYTES = 290_000
"""As JSON, before it is compressed. A picture that would have more joins wider boxes, in all lanes alike."""
BOX_BYTES, POINT_BYTES, LABEL_BYTES = 29, 40, 16
"""What a box, a point of a counter and a label (beside its text) take in JSON, at most, in ordinary traces."""
ALL_POINTS = 5000
"""Points of all lines together: a usual host has 10 lines, a hostile one hundreds."""
MAX_NAME = 160
"""Longer names (C++ templates) are cut: the trace has them whole."""


def cut_name(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


@dataclass(frozen=True, slots=True)
class Picture:
    """Per lane, its rows of boxes and its lines of points."""

    rows: tuple[tuple[Boxes, ...], ...]
    lines: tuple[tuple[Points, ...], ...]
    used: tuple[int, ...]  # labels of the boxes, ascending

    @property
    def boxes(self) -> int:
        return sum(len(boxes) for rows in self.rows for boxes in rows)


def picture_of(source: TimelineSource, window: Window, width: int) -> Picture:
    """The slice `window` for `width` pixels."""
    return _fitting(source, window, window.duration_ns / width * MERGE_BELOW_PIXELS)


def _fitting(source: TimelineSource, window: Window, bucket_ns: float) -> Picture:
    """The finest picture that keeps within its bytes."""
    count = sum(len(lane.lines) for lane in source.lanes)
    points = min(MAX_POINTS, ALL_POINTS // max(1, count))
    lines = tuple(tuple(slice_line(line, window, points) for line in lane.lines) for lane in source.lanes)
    while True:
        rows = tuple(tuple(slice_row(row, window, bucket_ns) for row in lane.rows) for lane in source.lanes)
        picture = Picture(rows, lines, _used(rows))
        excess = _bytes(picture, source.labels) / MAX_PICTURE_BYTES
        if excess <= 1 or bucket_ns > window.duration_ns:
            return picture
        bucket_ns *= min(4.0, max(1.2, excess))


def _used(rows: Sequence[Sequence[Boxes]]) -> tuple[int, ...]:
    columns = [boxes.label for lane in rows for boxes in lane]
    return tuple(np.unique(np.concatenate(columns)).tolist()) if columns else ()


def _bytes(picture: Picture, labels: Sequence[Label]) -> int:
    points = sum(len(line.time_ns) for lines in picture.lines for line in lines)
    texts = sum(min(len(labels[used].text), MAX_NAME) + LABEL_BYTES for used in picture.used)
    return picture.boxes * BOX_BYTES + points * POINT_BYTES + texts
