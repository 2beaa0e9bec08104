"""Algorithms that keep hostile structure in proportion, against the plain ones that they replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.analyses.attribution import shares_of_gaps
from tb_dataplugin.analyses.flow import _epochs_of, _first_received
from tb_dataplugin.analyses.stages import groups
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Intervals, int64
from tb_dataplugin.model.nesting import most_open, nest, nest_by_track
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchTable

spans = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 20)), max_size=25)


@given(spans)
def test_threads_nested_at_once_are_threads_nested_one_by_one(found: list[tuple[int, int, int]]) -> None:
    track, start = int64([one[0] for one in found]), int64([one[1] for one in found])
    end = start + int64([one[2] for one in found])
    whole = nest_by_track(start, end, track)
    assert most_open(start, end, track) >= int((whole.depth + 1).max(initial=0)) - int((end == start).any())
    pieces: list[tuple[int, int, int]] = []
    for one in np.unique(track).tolist():
        here = np.flatnonzero(track == one)
        alone = nest(start[here], end[here])
        assert [-1 if row < 0 else here[row] for row in alone.parent.tolist()] == whole.parent[here].tolist()
        assert alone.depth.tolist() == whole.depth[here].tolist()
        pieces += zip(
            alone.piece_start.tolist(), alone.piece_end.tolist(), here[alone.piece_span].tolist(), strict=True
        )
    told = zip(whole.piece_start.tolist(), whole.piece_end.tolist(), whole.piece_span.tolist(), strict=True)
    assert list(told) == pieces


@given(st.lists(st.integers(0, 5), max_size=30), st.data())
def test_groups_are_the_rows_of_each_key(keys: list[int], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(keys) - 1), unique=True)) if keys else []
    found = {key: here.tolist() for key, here in groups(int64(keys), np.array(rows, dtype=np.intp))}
    assert found == {key: [row for row in rows if keys[row] == key] for key in sorted({keys[row] for row in rows})}


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9), st.integers(0, 3)), max_size=20))
def test_shares_of_gaps_are_those_of_the_whole_table(parts: list[tuple[int, int, int]]) -> None:
    names = ["a", "b", "c", "d"]
    gaps = Intervals.union([0, 50, 110], [40, 100, 200])
    free, waited = gaps, {}
    for number, name in enumerate(names):
        own = [(start, start + length) for start, length, whose in parts if whose == number]
        mine = Intervals.union([one[0] for one in own], [one[1] for one in own]).intersect(free)
        waited[name], free = mine, free.minus(mine)
    table = np.stack([waited[name].overlap(gaps.start, gaps.end) for name in names])
    found = shares_of_gaps(gaps, waited)
    best = table.argmax(axis=0).tolist()
    assert found.largest == tuple(names[row] if table[row, gap] else "" for gap, row in enumerate(best))
    assert found.by_stage_ns == {name: int(row.sum()) for name, row in zip(names, table, strict=True) if row.any()}


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=15),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=8),
)
def test_epochs_received_are_those_found_by_looking_at_every_batch(
    consumed: list[int | None], waits: list[tuple[int, int]]
) -> None:
    count = len(consumed)
    columns: dict[str, Any] = dict.fromkeys(BatchTable.__dataclass_fields__, np.zeros(count, dtype=np.int64))
    columns["consumed_ns"] = int64([UNKNOWN_NS if one is None else one for one in consumed])
    columns["epoch"] = np.arange(count, dtype=np.int64) % 4
    nothing = np.full(count, UNKNOWN_NS)
    batches = BatchTimes(BatchTable(**columns), nothing, nothing, nothing, nothing, nothing)
    start = int64([one[0] for one in waits])
    end = start + int64([one[1] for one in waits])
    expected = []
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        rows = [row for row, time in enumerate(consumed) if time is not None and begin <= time <= stop]
        expected.append(rows[0] % 4 if rows else -1)
    assert _epochs_of(batches, _first_received(batches, start, end)).tolist() == expected
