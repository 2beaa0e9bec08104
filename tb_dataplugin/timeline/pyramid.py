"""Boxes of one row of the timeline at every level of detail, so that a slice costs what it shows, not what there is.

A box narrower than a bucket is joined with its neighbours that are, and that start in the same bucket. The joined box
says how many spans it merges, how much of it they cover, and takes the name of the longest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array, Window

Int32Array = npt.NDArray[np.int32]

BUCKET_GROWTH = 4
KEEP_BELOW = 1 / 3
"""A coarser level is kept when it has fewer than this share of the boxes below it: all levels together then cost at
most half as many boxes as there are spans."""
SMALL = 256
"""A row of fewer boxes needs no coarser level."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Equally long columns, sorted by start.

    label     index into the timeline's labels
    count     spans that the box merges
    busy_ns   summed length of those spans
    longest_ns   length of the longest, whose label the box has
    index     dataset index of a sample, -1 for all else
    """

    start_ns: Int64Array
    end_ns: Int64Array
    label: Int32Array
    count: Int32Array
    busy_ns: Int64Array
    longest_ns: Int64Array
    index: Int64Array

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, rows: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Boxes:
        return Boxes(
            self.start_ns[rows], self.end_ns[rows], self.label[rows], self.count[rows], self.busy_ns[rows],
            self.longest_ns[rows], self.index[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spans:
    """The finest level: single spans, sorted by start. `index` is None where no span is a sample."""

    start_ns: Int64Array
    end_ns: Int64Array
    label: Int32Array
    index: Int64Array | None

    def __len__(self) -> int:
        return len(self.start_ns)

    def within(self, window: Window) -> slice:
        """Those that begin in `window`."""
        first, last = np.searchsorted(self.start_ns, (window.start_ns, window.end_ns))
        return slice(int(first), int(last))

    def boxes(self, rows: slice) -> Boxes:
        start, end = self.start_ns[rows], self.end_ns[rows]
        length = end - start
        index = np.full(len(start), -1, dtype=np.int64) if self.index is None else self.index[rows]
        return Boxes(start, end, self.label[rows], np.ones(len(start), dtype=np.int32), length, length, index)


@dataclass(frozen=True, slots=True)
class Level:
    """The row with boxes narrower than `bucket_ns` joined; `longest_ns` is the greatest length of a box."""

    bucket_ns: int
    longest_ns: int
    boxes: Boxes


@dataclass(frozen=True, slots=True)
class Row:
    """`longest_ns` is the greatest length of a span; `levels` grow coarser."""

    spans: Spans
    longest_ns: int
    levels: tuple[Level, ...]

    @property
    def nbytes(self) -> int:
        """Memory of the columns: a span takes 20 bytes, with an index 28; a box of a level 48."""
        spans = len(self.spans) * (20 if self.spans.index is None else 28)
        return spans + sum(48 * len(level.boxes) for level in self.levels)


def build_row(start: Int64Array, end: Int64Array, label: Int32Array, index: Int64Array | None = None) -> Row:
    """The row of spans given in any order."""
    order = np.argsort(start, kind="stable")
    start, end, label = start[order], end[order], label[order]
    spans = Spans(start, end, label, None if index is None else index[order])
    return Row(spans, int((end - start).max(initial=0)), _levels(spans))


def _levels(spans: Spans) -> tuple[Level, ...]:
    levels: list[Level] = []
    if len(spans) < SMALL:
        return ()
    boxes = spans.boxes(slice(None))
    extent = int(boxes.end_ns.max() - boxes.start_ns[0])
    bucket = _first_bucket(extent // len(spans))
    while bucket < extent and len(boxes) >= SMALL:
        starts = _group_starts(boxes, bucket)
        if len(starts) < KEEP_BELOW * len(boxes):
            boxes = _join(boxes, starts)
            levels.append(Level(bucket, int((boxes.end_ns - boxes.start_ns).max()), boxes))
        bucket *= BUCKET_GROWTH
    return tuple(levels)


def _first_bucket(spacing_ns: int) -> int:
    """A power of the growth, well below the mean distance of spans: finer ones would join nearly nothing."""
    bucket = 1
    while bucket * BUCKET_GROWTH**3 < spacing_ns:
        bucket *= BUCKET_GROWTH
    return bucket


def slice_row(row: Row, window: Window, bucket_ns: float) -> Boxes:
    """The boxes that touch `window`, those narrower than `bucket_ns` joined."""
    fitting = [level for level in row.levels if level.bucket_ns <= bucket_ns]
    if fitting:
        boxes = fitting[-1].boxes
        boxes = boxes.take(_reaching(boxes.start_ns, fitting[-1].longest_ns, window))
    else:
        boxes = row.spans.boxes(_reaching(row.spans.start_ns, row.longest_ns, window))
    inside = boxes.end_ns >= window.start_ns
    return merge(boxes if inside.all() else boxes.take(inside), bucket_ns)


def _reaching(start_ns: Int64Array, longest_ns: int, window: Window) -> slice:
    """The rows among which all that touch `window` are: none of them begins earlier than the longest one's length."""
    first, last = np.searchsorted(start_ns, (window.start_ns - longest_ns, window.end_ns))
    return slice(int(first), int(last))


def merge(boxes: Boxes, bucket_ns: float) -> Boxes:
    """`boxes` with those joined that are narrower than `bucket_ns` and start in the same bucket."""
    starts = _group_starts(boxes, bucket_ns)
    return boxes if len(starts) == len(boxes) else _join(boxes, starts)


def _group_starts(boxes: Boxes, bucket_ns: float) -> npt.NDArray[np.intp]:
    """Where each group of boxes that will be one begins."""
    if not len(boxes):
        return np.zeros(0, dtype=np.intp)
    narrow = boxes.end_ns - boxes.start_ns < bucket_ns
    bucket = np.floor_divide(boxes.start_ns, bucket_ns)
    joined = narrow[1:] & narrow[:-1] & (bucket[1:] == bucket[:-1])
    return np.flatnonzero(np.concatenate(([True], ~joined)))


def _join(boxes: Boxes, starts: npt.NDArray[np.intp]) -> Boxes:
    sizes = np.diff(starts, append=len(boxes))
    longest = np.maximum.reduceat(boxes.longest_ns, starts)
    leaders = np.flatnonzero(boxes.longest_ns == np.repeat(longest, sizes))
    leader = np.empty(len(starts), dtype=np.intp)
    leader[np.repeat(np.arange(len(starts)), sizes)[leaders[::-1]]] = leaders[
        ::-1
    ]  # the first of equals is written last
    return Boxes(
        start_ns=boxes.start_ns[starts],
        end_ns=np.maximum.reduceat(boxes.end_ns, starts),
        label=boxes.label[leader],
        count=np.add.reduceat(boxes.count, starts, dtype=np.int32),
        busy_ns=np.add.reduceat(boxes.busy_ns, starts),
        longest_ns=longest,
        index=boxes.index[leader],
    )
