"""Which of several DataLoaders that are alike a wait was for, by when their iterators were made and let go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import LoaderInfo

UNKNOWN: Final = -1
"""Number of a loader that is not known, or that several may be."""


def are_apart(passes: Sequence[tuple[float, float | None]]) -> bool:
    """Whether each, in order, was over before the next began. `passes`: when it began, and ended or None."""
    return all(ended is not None and ended <= began for (_, ended), (began, _) in pairwise(passes))


class _Pass(NamedTuple):
    """In ns; `ended`: None where the program has not let go of the iterator, or goes on with it."""

    began: float
    ended: float | None
    loader: int


def in_passes(
    loaders: Sequence[LoaderInfo],
    among: Iterable[int],
    at: float,
    steps: Int64Array,
    over: Mapping[int, float] | None = None,
) -> int:
    """The number of the loader that was iterated at that time; UNKNOWN where none was, or several may have been.

    A pass that began and was over in one step, while another one goes on, is an evaluation inside that: what is waited
    for in it is its own. Others that go on side by side may be drawn from by turns. `steps`: when they began. `over`:
    when an iterator of that loader came to its end, though the program may still hold it (persistent workers' is).
    """
    over = over or {}
    is_open = [
        each
        for each in _passes(loaders, among)
        if each.began <= at and at < _until(each) and each.began > over.get(each.loader, -float("inf"))
    ]
    theirs = {each.loader for each in is_open}
    inside = {each.loader for each in is_open if _in_one_step(each, steps)}
    if len(theirs) == 1:
        return theirs.pop()
    return inside.pop() if len(inside) == 1 else UNKNOWN


def inside_steps(loaders: Sequence[LoaderInfo], of_wait: Int64Array, steps: Int64Array) -> frozenset[int]:
    """Numbers of the loaders that are gone through inside single steps, for several batches each time, as in an
    evaluation: however many steps have one. `of_wait`: the loader's number per wait. `steps`: when they began.
    """
    found = set()
    for number in range(len(loaders)):
        here = [each for each in _passes(loaders, (number,)) if len(steps) and _until(each) > steps[0]]
        waits = int((of_wait == number).sum())
        if here and waits > len(here) and all(_in_one_step(each, steps) or _is_cut(each, steps) for each in here):
            found.add(number)
    return frozenset(found)


def _until(each: _Pass) -> float:
    return float("inf") if each.ended is None else each.ended


def _is_cut(each: _Pass, steps: Int64Array) -> bool:
    """It began in the last step."""
    return each.ended is None and each.began >= steps[-1]


def _passes(loaders: Sequence[LoaderInfo], among: Iterable[int]) -> list[_Pass]:
    return [
        _Pass(began * 1e3, None if ended is None else ended * 1e3, number)
        for number in among
        for began, ended in loaders[number].passes_ts_us
    ]


def _in_one_step(each: _Pass, steps: Int64Array) -> bool:
    if each.ended is None:
        return False
    first, last = np.searchsorted(steps, (each.began, each.ended), side="right").tolist()
    return bool(0 < first == last)
