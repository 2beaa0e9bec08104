"""Spans of one thread as a tree, and the thread's time cut up by its deepest span."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Nesting:
    """The tree over `n` spans, and the timeline of the deepest span.

    `parent[i]` is the index of the enclosing span, -1 at the top; `depth[i]` counts its ancestors. The pieces
    ``[piece_start[k], piece_end[k])`` are disjoint, sorted, and belong to span `piece_span[k]`, the deepest one at
    that time. `clipped` counts spans that ran past their parent's end: they are cut there, so that every time belongs
    to one span.
    """

    parent: Int64Array
    depth: Int64Array
    piece_start: Int64Array
    piece_end: Int64Array
    piece_span: Int64Array
    clipped: int

    def self_ns(self) -> Int64Array:
        """Per span, its time less its children's."""
        total = np.zeros(len(self.parent), dtype=np.int64)
        np.add.at(total, self.piece_span, self.piece_end - self.piece_start)
        return total


def nest(start: Int64Array, end: Int64Array) -> Nesting:
    """Nest the spans of one thread. A span that starts inside another is its child, cut where it ends later."""
    return nest_by_track(start, end, np.zeros(len(start), dtype=np.int64))


def nest_by_track(start: Int64Array, end: Int64Array, track: npt.NDArray[np.integer[Any]]) -> Nesting:
    """Nest the spans of several threads, numbered by `track`. The pieces are sorted by track, then by time."""
    n = len(start)
    parent, depth = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    pieces = array("q")  # start, end, span of one after the other: a third of what tuples take
    stack: list[tuple[int, int]] = []  # (span, end), ends never increase upwards
    clipped, now, thread = 0, 0, None

    def advance(until: int) -> None:
        """Give the time from `now` to `until` to the spans on the stack, and take off those that end by then."""
        nonlocal now
        while stack:
            span, stops = stack[-1]
            reach = min(stops, until)
            if reach > now:
                pieces.extend((now, reach, span))
                now = reach
            if stops > until:
                break
            stack.pop()
        now = until

    for span, of, begins, ends in _in_order(start, end, track):
        if of != thread:
            if stack:
                advance(stack[0][1])
            thread = of
        advance(begins)
        if stack:
            parent[span], depth[span] = stack[-1][0], len(stack)
            if ends > stack[-1][1]:
                ends = stack[-1][1]
                clipped += 1
        stack.append((span, ends))
    if stack:
        advance(stack[0][1])
    columns = np.frombuffer(pieces, dtype=np.int64).reshape(-1, 3).T if pieces else np.zeros((3, 0), dtype=np.int64)
    piece_start, piece_end, piece_span = map(np.ascontiguousarray, columns)
    return Nesting(parent, depth, piece_start, piece_end, piece_span, clipped)


def _in_order(
    start: Int64Array, end: Int64Array, track: npt.NDArray[np.integer[Any]]
) -> Iterator[tuple[int, int, int, int]]:
    """Span, track, start and end, the outer spans first."""
    order = np.lexsort((-end, start, track))
    for first in range(0, len(order), CHUNK):  # Python's numbers take five times the memory of numpy's
        rows = order[first : first + CHUNK]
        yield from zip(rows.tolist(), track[rows].tolist(), start[rows].tolist(), end[rows].tolist(), strict=True)


def most_open(start: Int64Array, end: Int64Array, track: npt.NDArray[np.integer[Any]]) -> int:
    """How many spans of one track are open at once, at most: none is nested more deeply than that."""
    time, change = np.concatenate((start, end)), np.repeat((1, -1), len(start))
    order = np.lexsort((-change, time, np.concatenate((track, track))))
    return int(np.cumsum(change[order]).max(initial=0))
