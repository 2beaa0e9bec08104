"""Laws of the timeline's pictures, on random spans and at every level of detail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.timeline import pyramid
from tb_dataplugin.timeline.pyramid import Boxes, Row, build_row, slice_row


@pytest.fixture(autouse=True, scope="module")
def _levels_for_small_rows() -> Iterator[None]:
    """A few spans are enough to have levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyramid, "SMALL", 4)
        patch.setattr(pyramid, "KEEP_BELOW", 0.9)
        yield


@st.composite
def rows(draw: st.DrawFn) -> tuple[Row, Int64Array, Int64Array, Int64Array]:
    """A row, and the spans it was made of: start, end, label."""
    spans = draw(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 150), st.integers(0, 5)), max_size=60))
    start, length, label = (int64([span[column] for span in spans]) for column in range(3))
    return build_row(start, start + length, label.astype(np.int32)), start, start + length, label


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(st.integers(0, 2100))
    return Window(start, start + draw(st.integers(1, 2000)))


def touching(start: Int64Array, end: Int64Array, window: Window) -> Int64Array:
    return np.flatnonzero((end >= window.start_ns) & (start < window.end_ns))


@given(rows(), windows(), st.integers(1, 1000))
@settings(deadline=None)
def test_every_span_of_the_slice_lies_in_a_box(found, window: Window, bucket: int) -> None:  # type: ignore[no-untyped-def]
    row, start, end, _ = found
    boxes = slice_row(row, window, bucket)
    for span in touching(start, end, window):
        assert ((boxes.start_ns <= start[span]) & (boxes.end_ns >= end[span])).any()


@given(rows(), windows(), st.integers(1, 1000))
@settings(deadline=None)
def test_a_box_ends_where_spans_end_and_says_what_they_cover(found, window: Window, bucket: int) -> None:  # type: ignore[no-untyped-def]
    row, start, end, label = found
    boxes: Boxes = slice_row(row, window, bucket)
    assert (np.diff(boxes.start_ns) >= 0).all()
    for box in range(len(boxes)):
        assert boxes.start_ns[box] in start and boxes.end_ns[box] in end
        longest = np.flatnonzero((end - start == boxes.longest_ns[box]) & (label == boxes.label[box]))
        assert ((start[longest] >= boxes.start_ns[box]) & (end[longest] <= boxes.end_ns[box])).any()
        assert boxes.longest_ns[box] <= boxes.busy_ns[box] <= boxes.count[box] * boxes.longest_ns[box]
        if boxes.count[box] > 1:
            assert boxes.longest_ns[box] < bucket
            assert boxes.end_ns[box] - boxes.start_ns[box] < 2 * bucket


@given(rows(), st.integers(1, 1000))
@settings(deadline=None)
def test_the_boxes_of_the_whole_stand_for_every_span_once(found, bucket: int) -> None:  # type: ignore[no-untyped-def]
    row, start, end, _ = found
    boxes = slice_row(row, Window(0, 3000), bucket)
    assert boxes.count.sum() == len(start)
    assert boxes.busy_ns.sum() == (end - start).sum()


@given(rows(), windows())
@settings(deadline=None)
def test_close_up_every_span_is_a_box_of_its_own(found, window: Window) -> None:  # type: ignore[no-untyped-def]
    row, start, end, label = found
    boxes = slice_row(row, window, 1e-3)
    here = [span for span in touching(start, end, window) if end[span] > start[span]]
    spans = zip(boxes.start_ns.tolist(), boxes.end_ns.tolist(), boxes.label.tolist(), strict=True)
    drawn = [span for span in spans if span[1] > span[0]]  # those without length may stand at the same time
    assert sorted(drawn) == sorted(zip(start[here].tolist(), end[here].tolist(), label[here].tolist(), strict=True))


@given(rows(), st.integers(1, 1000))
@settings(deadline=None)
def test_few_boxes_are_left_of_many_narrow_ones(found, bucket: int) -> None:  # type: ignore[no-untyped-def]
    """Between any two boxes that are no wider than a bucket, at least one of them starts in another bucket."""
    row, *_ = found
    boxes = slice_row(row, Window(0, 3000), bucket)
    narrow = boxes.end_ns - boxes.start_ns < bucket
    same = boxes.start_ns[1:] // bucket == boxes.start_ns[:-1] // bucket
    assert not (narrow[1:] & narrow[:-1] & same).any()
