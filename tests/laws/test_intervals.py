"""Each fast interval algorithm against sets of whole nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.model.intervals import Intervals, Window, int64

Spans = list[tuple[int, int]]
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda s: (s[0], s[0] + s[1])), max_size=12)
windows = st.tuples(st.integers(0, 40), st.integers(0, 30)).map(lambda w: Window(w[0], w[0] + w[1]))


def make(stretches: Spans) -> Intervals:
    return Intervals.union([start for start, _ in stretches], [end for _, end in stretches])


def moments(stretches: Spans) -> set[int]:
    return {moment for start, end in stretches for moment in range(start, end)}


def as_set(intervals: Intervals) -> set[int]:
    return moments(list(zip(intervals.start.tolist(), intervals.end.tolist(), strict=True)))


def assert_canonical(intervals: Intervals) -> None:
    assert (intervals.start < intervals.end).all()
    assert (intervals.end[:-1] < intervals.start[1:]).all()


@given(spans)
def test_union_covers_the_same_moments_and_is_canonical(stretches: Spans) -> None:
    union = make(stretches)
    assert_canonical(union)
    assert as_set(union) == moments(stretches)
    assert union.total_ns == len(moments(stretches))


@given(spans, st.randoms(use_true_random=False))
def test_order_does_not_matter(stretches: Spans, random: object) -> None:
    shuffled = list(stretches)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert as_set(make(stretches)) == as_set(make(shuffled))


@given(spans, windows)
def test_busy_and_complement_fill_the_window_exactly(stretches: Spans, window: Window) -> None:
    busy, idle = make(stretches).clip(window), make(stretches).complement(window)
    inside = set(range(window.start_ns, window.end_ns))
    assert_canonical(idle)
    assert as_set(busy) == moments(stretches) & inside
    assert as_set(idle) == inside - moments(stretches)
    assert busy.total_ns + idle.total_ns == window.duration_ns


@given(spans, spans)
def test_intersection(first: Spans, second: Spans) -> None:
    both = make(first).intersect(make(second))
    assert_canonical(both)
    assert as_set(both) == moments(first) & moments(second)


@given(spans, spans)
def test_overlap_of_each_stretch(stretches: Spans, probes: Spans) -> None:
    start, end = int64([s for s, _ in probes]), int64([e for _, e in probes])
    expected = [len(moments(stretches) & set(range(s, e))) for s, e in probes]
    assert make(stretches).overlap(start, end).tolist() == expected


@given(spans, st.lists(st.integers(-5, 60), max_size=20))
def test_contains(stretches: Spans, times: list[int]) -> None:
    found = make(stretches).contains(np.asarray(times, dtype=np.int64))
    assert found.tolist() == [time in moments(stretches) for time in times]
