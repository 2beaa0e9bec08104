"""Calls that take many times as long as most: exceptions, or a kind of their own.

An exception is rare, and chance decides where it comes. Where one call in four is slow, or every thirtieth, that is how
the stage works: one call makes several samples, or fetches what the calls after it use. Nothing is wrong with the
samples that these calls happen to be for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.line_rows import estimate
from tb_dataplugin.model.intervals import Int64Array

SLOW: Final = 5.0
"""Times a common call, from which one is slow."""

A_KIND: Final = 0.1
"""Part of all calls that a kind has for certain, at the low end of its 95% interval: it is in most batches."""

BETWEEN: Final = 0.1
"""Calls between two kinds, over those of the slow one, up to which there are two. One call is none too many."""

LEAST: Final = 4
"""Slow calls, of fewer of which nothing is said of how they come."""
MOST: Final = 100
"""Slow calls of a thread that are looked at."""
DEALT: Final = 1000
BY_CHANCE: Final = 0.005
"""By each of two measures."""

BoolArray = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SlowKind:
    """`calls` of all `of` are slow, and no exceptions. They have `time_share` of the time. `among_quick`: with each of
    them a quick one of the same thread comes.
    """

    calls: int
    of: int
    time_share: float
    among_quick: bool = True


def find_slow_kind(duration: Int64Array, start: Int64Array, track: npt.NDArray[np.int32]) -> SlowKind | None:
    """None where slow calls are exceptions."""
    slow = slow_calls(duration, float(np.median(duration)))
    if slow.sum() < LEAST or not _is_apart(duration, slow) or not (_is_kind(slow) or come_evenly(slow, start, track)):
        return None
    return SlowKind(
        int(slow.sum()), len(duration), float(duration[slow].sum() / duration.sum()), _are_among_quick(slow, track)
    )


def _are_among_quick(slow: BoolArray, track: npt.NDArray[np.int32]) -> bool:
    """One more may stand at an end."""
    mine = (slow[track == one] for one in np.unique(track[slow]).tolist())
    return all(2 * int(each.sum()) <= len(each) + 1 for each in mine)


def _is_apart(duration: Int64Array, slow: BoolArray) -> bool:
    """Whether next to none are between the two kinds, by their ratios: a crowded machine makes calls of any length."""
    quick, long = np.log(max(1.0, float(np.median(duration)))), np.log(float(np.median(duration[slow])))
    third = (long - quick) / 3
    between = (duration > np.exp(quick + third)) & (duration < np.exp(long - third))
    return bool(between.sum() <= max(1.0, BETWEEN * slow.sum()))


def slow_calls(duration: Int64Array, common: float) -> BoolArray:
    """Those that take many times as long as a common call, and have a ratio nearer to the median one's of these than to
    the common call's: what stands between them happened to take longer.
    """
    slow: BoolArray = duration >= SLOW * max(1.0, common)
    return slow & (duration >= np.sqrt(common * np.median(duration[slow]))) if slow.any() else slow


def common_ns(duration: Int64Array) -> float:
    """What calls of the slowest kind take that is none of exceptions: most of them, or those that are many times as
    slow and still a considerable part, and so on.
    """
    common = float(np.median(duration))
    while _is_kind(slower := duration >= SLOW * max(1.0, common)):
        common = float(np.median(duration[slower]))
    return common


def _is_kind(chosen: BoolArray) -> bool:
    return estimate(np.ones(len(chosen)), chosen.astype(np.float64)).low >= A_KIND


def come_evenly(chosen: BoolArray, start: Int64Array, track: npt.NDArray[np.int32]) -> bool:
    """Whether these calls come among all of their threads more evenly than chance has it: by all distances between
    them, or by the least, which many pages of one size leave however few they are.
    """
    places = [each for each in _places(chosen, start, track) if len(each)]
    if sum(map(len, places)) < LEAST:
        return False
    random = np.random.default_rng(len(chosen))
    dealt = _evenness([np.sort(random.random((DEALT, len(each))), axis=1) for each in places])
    found = _evenness([each[np.newaxis] for each in places])
    by_chance = (dealt >= found - 1e-9).mean(axis=1)
    return bool((by_chance < BY_CHANCE).any())


def _places(chosen: BoolArray, start: Int64Array, track: npt.NDArray[np.int32]) -> Iterator[Floats]:
    """By thread: where they are, from 0 before the first call to 1 after the last. Of many, the first ones."""
    for one in np.unique(track).tolist():
        mine = np.flatnonzero(track == one)
        at = np.flatnonzero(chosen[mine[np.lexsort((chosen[mine], start[mine]))]]) + 0.5
        until = at[MOST] if len(at) > MOST else len(mine)
        yield at[:MOST] / until


def _evenness(places: Sequence[Floats]) -> Floats:
    """By thread, an order in each row. For each of these: the sum of the squares of all distances, to both ends as
    well, less than nothing; and the least distance of two.
    """
    sides = [np.hstack((np.zeros((len(each), 1)), each, np.ones((len(each), 1)))) for each in places]
    squares = sum((np.diff(each, axis=1) ** 2).sum(axis=1) for each in sides)
    least = np.min([np.diff(each, axis=1).min(axis=1, initial=1.0) for each in places], axis=0)
    found: Floats = np.array([-np.asarray(squares), least])
    return found
