"""The picture of a slice of a timeline: what `width` pixels can show, in a bounded number of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.model.intervals import Window
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.counter_lanes import Points, slice_line
from tb_dataplugin.report.pyramid import Boxes, slice_row
from tb_dataplugin.report.timeline import Label, LaneSource, TimelineSource

MERGE_BELOW_PIXELS = 2.0
MAX_PICTURE_BYTES = 290_000
"""As JSON, before it is compressed. A picture that would have more joins wider boxes, in all lanes alike."""
BOX_BYTES, POINT_BYTES, LABEL_BYTES = 29, 34, 16
"""What a box, a point of a counter and a label (beside its text) take in JSON, at most, in ordinary traces."""
MAX_NAME = 160
"""Longer names (C++ templates) are cut: the trace has them whole."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """Per lane, its rows of boxes and its lines of points."""

    rows: tuple[tuple[Boxes, ...], ...]
    lines: tuple[tuple[Points, ...], ...]
    used: tuple[int, ...]  # labels of the boxes, ascending

    @property
    def boxes(self) -> int:
        return sum(len(boxes) for rows in self.rows for boxes in rows)


def slice_timeline(source: TimelineSource, start_us: float, end_us: float, width: int) -> pb.Timeline:
    """The slice ``[start_us, end_us)`` for `width` pixels."""
    start_ns = round(start_us * 1e3)
    window = Window(start_ns, max(round(end_us * 1e3), start_ns + 1))
    picture = _fitting(source, window, window.duration_ns / width * MERGE_BELOW_PIXELS)
    number = np.zeros(len(source.labels), dtype=np.int64)
    number[list(picture.used)] = np.arange(len(picture.used))
    labels = [source.labels[used] for used in picture.used]
    return pb.Timeline(
        start_us=window.start_ns / 1e3,
        end_us=window.end_ns / 1e3,
        window_start_us=source.window.start_ns / 1e3,
        window_end_us=source.window.end_ns / 1e3,
        lanes=[
            _lane(lane, rows, lines, number, window.start_ns)
            for lane, rows, lines in zip(source.lanes, picture.rows, picture.lines, strict=True)
        ],
        names=[_cut(label.text) for label in labels],
        colors=[label.token for label in labels],
    )


def _fitting(source: TimelineSource, window: Window, bucket_ns: float) -> _Picture:
    """The finest picture that keeps within its bytes."""
    lines = tuple(tuple(slice_line(line, window) for line in lane.lines) for lane in source.lanes)
    while True:
        rows = tuple(tuple(slice_row(row, window, bucket_ns) for row in lane.rows) for lane in source.lanes)
        picture = _Picture(rows, lines, _used(rows))
        excess = _bytes(picture, source.labels) / MAX_PICTURE_BYTES
        if excess <= 1 or bucket_ns > window.duration_ns:
            return picture
        bucket_ns *= min(4.0, max(1.2, excess))


def _used(rows: Sequence[Sequence[Boxes]]) -> tuple[int, ...]:
    columns = [boxes.label for lane in rows for boxes in lane]
    return tuple(np.unique(np.concatenate(columns)).tolist()) if columns else ()


def _bytes(picture: _Picture, labels: Sequence[Label]) -> int:
    points = sum(len(line.time_ns) for lines in picture.lines for line in lines)
    texts = sum(min(len(labels[used].text), MAX_NAME) + LABEL_BYTES for used in picture.used)
    return picture.boxes * BOX_BYTES + points * POINT_BYTES + texts


def _cut(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def _lane(
    source: LaneSource,
    rows: Sequence[Boxes],
    lines: Sequence[Points],
    number: np.ndarray[tuple[int], np.dtype[np.int64]],
    start_ns: int,
) -> pb.Lane:
    lane = pb.Lane(id=source.id, kind=source.kind, title=source.title, unit=source.unit)
    if source.lines:
        lane.top = source.top
    merged = any(int(boxes.count.max(initial=1)) > 1 for boxes in rows)
    samples = any(bool((boxes.index >= 0).any()) for boxes in rows)
    for boxes in rows:
        length = boxes.end_ns - boxes.start_ns
        lane.boxes.append(len(boxes))
        lane.start_ns.extend(np.diff(boxes.start_ns, prepend=start_ns).tolist())
        lane.duration_ns.extend(length.tolist())
        lane.name.extend(number[boxes.label].tolist())
        if merged:
            lane.merged.extend(boxes.count.tolist())
            share = 100 * boxes.busy_ns // np.maximum(length, 1)
            lane.covered.extend(np.where(boxes.count > 1, np.minimum(share, 100), 100).tolist())
        if samples:
            lane.index.extend(boxes.index.tolist())
    for line, points in zip(source.lines, lines, strict=True):
        lane.lines.append(_line(line.name, points, start_ns))
    return lane


def _line(name: str, points: Points, start_ns: int) -> pb.CounterLine:
    spread = bool((points.high > points.low).any())
    return pb.CounterLine(
        name=name,
        time_ns=np.diff(points.time_ns, prepend=start_ns).tolist(),
        mean=_rounded(points.mean),
        low=_rounded(points.low) if spread else (),
        high=_rounded(points.high) if spread else (),
    )


def _rounded(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """To four digits: more than a line can show."""
    return [float(f"{value:.4g}") for value in values.tolist()]
