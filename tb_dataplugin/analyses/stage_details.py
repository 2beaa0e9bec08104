"""Each stage in depth: how the durations of its calls spread, over the window too, and which calls were the slowest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from annotate.trace_format import Stage
from tb_dataplugin.analyses.call_kinds import SlowKind, find_slow_kind
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.slow_calls import Calls, SlowCall, describe_calls
from tb_dataplugin.analyses.stages import StageTree, groups
from tb_dataplugin.analyses.step_calls import Mask
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.trace import Trace

MOST_STAGES: Final = 100
"""With details; a pipeline has twenty, and each adds some kilobytes to a report."""

MOST_BINS: Final = 30
WIDE: Final = 8.0
"""Longest over shortest call from which bins of a histogram grow with the duration."""

MOST_POINTS: Final = 100
SLICES: Final = 40
"""Of the window, where calls carry no batch."""

SLOWEST: Final = 0.05
LEAST_FOR_SHARE: Final = 20
"""Calls from which the slowest 5% are at least one."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """`edges_ns` has one entry more than `calls`."""

    edges_ns: tuple[float, ...]
    calls: tuple[int, ...]
    logarithmic: bool


@dataclass(frozen=True, slots=True)
class Trend:
    """Equally long columns, by time; `batch` is empty where calls carry none, and rows are then parts of the window."""

    per: Literal["batch", "time"]
    start_ns: tuple[int, ...]
    calls: tuple[int, ...]
    mean_ns: tuple[float, ...]
    max_ns: tuple[int, ...]
    batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StageDetail:
    """Of the calls of one stage that start in the window, wherever it is called: what they took (`StageTree.took_ns`);
    `mean_ns` is of all of their time.

    `slow_share`: the part of all calls' time that the slowest 5% of them take, None with fewer than 20 calls.
    `slow_kind`: calls that are slow again and again; None where they are exceptions, and of a stage that the training
    step calls as well, whose calls do different things. `has_index`: the calls are for samples of a known index.
    """

    stage: Stage
    count: int
    mean_ns: float
    p50_ns: float
    p95_ns: float
    max_ns: int
    slow_share: float | None
    histogram: Histogram
    slowest: tuple[SlowCall, ...]
    trend: Trend | None
    slow_kind: SlowKind | None = None
    has_index: bool = True


def find_stage_details(
    trace: Trace, tree: StageTree, window: Window, lines: HotLines | None, own: Mask
) -> tuple[StageDetail, ...]:
    """The stages with most time first. `own`: the training step's own calls."""
    inside = np.flatnonzero((tree.start_ns >= window.start_ns) & (tree.start_ns < window.end_ns))
    if not len(inside):
        return ()
    last = [path[-1] for path in tree.paths]
    numbers = {stage: number for number, stage in enumerate(dict.fromkeys(last))}
    stage_of_span = int64([numbers[stage] for stage in last])[tree.node]
    duration = tree.end_ns - tree.start_ns
    total = np.bincount(stage_of_span[inside], duration[inside], minlength=len(numbers))
    kept = set(np.argsort(-total, kind="stable")[:MOST_STAGES].tolist())
    stages, calls = list(numbers), Calls(trace, tree, lines)
    found = [
        _detail(calls, window, stages[number], here, own[here])
        for number, here in groups(stage_of_span, inside)
        if number in kept
    ]
    return tuple(sorted(found, key=lambda one: (-one.mean_ns * one.count, one.stage)))


def _detail(calls: Calls, window: Window, stage: Stage, here: npt.NDArray[np.intp], own: Mask) -> StageDetail:
    tree = calls.tree
    duration, took = tree.end_ns[here] - tree.start_ns[here], tree.took_ns[here]
    p50, p95 = np.percentile(took, (50, 95)).tolist()
    is_mixed = bool(own.any() and not own.all())
    return StageDetail(
        stage=stage,
        count=len(here),
        mean_ns=float(duration.mean()),
        p50_ns=p50,
        p95_ns=p95,
        max_ns=int(took.max()),
        slow_share=_slow_share(took),
        histogram=_histogram(took),
        slowest=tuple(describe_calls(calls, here)),
        trend=_trend(calls, here, took, window),
        slow_kind=None if is_mixed else find_slow_kind(took, tree.start_ns[here], tree.track[here]),
        has_index=bool((calls.facts.index[here] >= 0).any()),
    )


def _slow_share(duration: Int64Array) -> float | None:
    if len(duration) < LEAST_FOR_SHARE or not duration.sum():
        return None
    slow = np.sort(duration)[-round(SLOWEST * len(duration)) :]
    return float(slow.sum() / duration.sum())


def _histogram(duration: Int64Array) -> Histogram:
    """Rice's rule for the number of bins; bins grow with the duration where durations differ by a lot."""
    bins = int(min(MOST_BINS, np.ceil(2 * len(duration) ** (1 / 3))))
    shortest, longest = max(1, int(duration.min())), max(1, int(duration.max()))
    logarithmic = longest >= WIDE * shortest
    if shortest == longest:
        edges = np.array([shortest, shortest + 1.0])
    elif logarithmic:
        edges = np.geomspace(shortest, longest, bins + 1)
    else:
        edges = np.linspace(shortest, longest, bins + 1)
    edges[0], edges[-1] = shortest, max(edges[-1], longest)  # rounding may not lose a call
    counts, _ = np.histogram(np.maximum(duration, 1), edges)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()), logarithmic)


def _trend(calls: Calls, here: npt.NDArray[np.intp], duration: Int64Array, window: Window) -> Trend | None:
    """By batch where every call carries one, else by time."""
    start, batch = calls.tree.start_ns[here], calls.facts.batch[here]
    has_batch = bool((batch >= 0).all())
    if has_batch:
        keys = np.stack((calls.loaders(here), calls.facts.epoch[here], batch))
        _, group = np.unique(keys, axis=1, return_inverse=True)
        order = _by_first(start, group.ravel())
        together = -(-(int(order.max()) + 1) // MOST_POINTS)
        row = order // together
    else:
        row = (start - window.start_ns) * SLICES // max(1, window.duration_ns)
    points = list(_points(row, start, duration, batch))
    if len(points) < 2:
        return None
    first, count, mean, longest, number = (tuple(column) for column in zip(*points, strict=True))
    return Trend("batch" if has_batch else "time", first, count, mean, longest, number if has_batch else ())


def _by_first(start: Int64Array, group: npt.NDArray[np.intp]) -> Int64Array:
    """Per call, the rank of its group by the start of the group's first call."""
    first = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, group, start)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return int64(rank[group])


def _points(
    row: Int64Array, start: Int64Array, duration: Int64Array, batch: Int64Array
) -> Iterator[tuple[int, int, float, int, int]]:
    """Start, calls, mean and longest duration, and number of the first batch of each row."""
    for _, at in groups(row, np.arange(len(row))):
        first = at[np.argmin(start[at])]
        yield (
            int(start[first]),
            len(at),
            float(duration[at].mean()),
            int(duration[at].max()),
            int(batch[first]),
        )
