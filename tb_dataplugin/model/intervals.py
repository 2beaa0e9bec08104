"""Algebra on sets of time, as sorted, disjoint, non-empty half-open intervals of int64 nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Int64Array: TypeAlias = npt.NDArray[np.int64]


def int64(values: npt.ArrayLike) -> Int64Array:
    return np.asarray(values, dtype=np.int64)


def distinct(values: Int64Array) -> Int64Array:
    """The different values, ascending. Of many values, np.unique's hashing takes ten times as long as sorting."""
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of time, ``start_ns <= end_ns``."""

    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Intervals:
    """A set of time: ``start[i] < end[i] < start[i + 1]``. Build it with `union`; never by hand."""

    start: Int64Array
    end: Int64Array

    @staticmethod
    def union(start: npt.ArrayLike, end: npt.ArrayLike) -> Intervals:
        """The set covered by any of the given stretches, in any order. Touching ones are joined, empty ones dropped."""
        starts, ends = int64(start), int64(end)
        lasting = ends > starts
        starts, ends = starts[lasting], ends[lasting]
        if not len(starts):
            return EMPTY
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        opens = np.concatenate(([True], starts[1:] > ends[:-1]))
        closes = np.concatenate((opens[1:], [True]))
        return Intervals(starts[opens], ends[closes])

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def union_of(sets: Iterable[Intervals]) -> Intervals:
        """The time in any of the sets."""
        known = [one for one in sets if len(one)]
        if not known:
            return EMPTY
        return Intervals.union(np.concatenate([one.start for one in known]), np.concatenate([one.end for one in known]))

    @property
    def durations(self) -> Int64Array:
        return self.end - self.start

    @property
    def total_ns(self) -> int:
        return int(self.durations.sum())

    def clip(self, window: Window) -> Intervals:
        """The part inside `window`."""
        first = int(np.searchsorted(self.end, window.start_ns, side="right"))
        last = int(np.searchsorted(self.start, window.end_ns))
        start = np.maximum(self.start[first:last], window.start_ns)
        end = np.minimum(self.end[first:last], window.end_ns)
        inside = end > start
        return Intervals(start[inside], end[inside])

    def complement(self, window: Window) -> Intervals:
        """What of `window` is not in the set: maximal stretches."""
        inner = self.clip(window)
        start = np.concatenate(([window.start_ns], inner.end))
        end = np.concatenate((inner.start, [window.end_ns]))
        lasting = end > start
        return Intervals(int64(start[lasting]), int64(end[lasting]))

    def intersect(self, other: Intervals) -> Intervals:
        """What is in both sets."""
        if not len(self) or not len(other):
            return EMPTY
        mine, theirs = other.touching(self.start, self.end)
        start = np.maximum(self.start[mine], other.start[theirs])
        end = np.minimum(self.end[mine], other.end[theirs])
        return Intervals.union(start, end)

    def minus(self, other: Intervals) -> Intervals:
        """What is in this set and not in `other`."""
        if not len(self) or not len(other):
            return self
        return self.intersect(other.complement(Window(int(self.start[0]), int(self.end[-1]))))

    def contains(self, times: Int64Array) -> npt.NDArray[np.bool_]:
        """For each time, whether it lies in the set."""
        if not len(self):
            return np.zeros(len(times), dtype=np.bool_)
        index = np.searchsorted(self.start, times, side="right") - 1
        is_inside: npt.NDArray[np.bool_] = (index >= 0) & (times < self.end[np.maximum(index, 0)])
        return is_inside

    def touching(self, start: Int64Array, end: Int64Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """All pairs of a stretch ``[start[i], end[i])`` and an interval of the set that overlaps it, by stretch and
        time: numbers of the stretches, numbers of the intervals.
        """
        first = np.searchsorted(self.end, start, side="right")
        count = np.maximum(np.searchsorted(self.start, end, side="left") - first, 0)
        stretch = np.repeat(np.arange(len(start)), count)
        interval = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
        return stretch, interval

    def at_measure(self, start: Int64Array, end: Int64Array) -> Intervals:
        """The part of the set between two amounts of its time, counted from its start: ``[start[i], end[i])`` of each.
        ``at_measure([0], [total_ns])`` is the set.
        """
        if not len(self) or not len(start):
            return EMPTY
        after = np.cumsum(self.durations)
        before = after - self.durations
        part, interval = Intervals(before, after).touching(start, end)
        shift = self.start[interval] - before[interval]
        first = np.maximum(start[part], before[interval]) + shift
        return Intervals.union(first, np.minimum(end[part], after[interval]) + shift)

    def covered_before(self, times: Int64Array) -> Int64Array:
        """For each time, how much of the set lies before it (ns). Its differences are overlaps."""
        if not len(self):
            return np.zeros(len(times), dtype=np.int64)
        before = np.concatenate(([0], np.cumsum(self.durations)))
        index = np.searchsorted(self.start, times, side="right")
        last = np.maximum(index - 1, 0)
        overhang = np.where(index > 0, np.maximum(self.end[last] - times, 0), 0)
        return int64(before[index] - overhang)

    def overlap(self, start: Int64Array, end: Int64Array) -> Int64Array:
        """For each stretch ``[start[i], end[i])``, how much of it lies in the set (ns)."""
        return self.covered_before(end) - self.covered_before(start)


EMPTY = Intervals(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
