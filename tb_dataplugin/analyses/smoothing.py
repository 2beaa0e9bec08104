"""What a longer queue could smooth: batches that take different times to build.

A batch holds the loop up for no longer than it takes above the mean: with a queue that never runs empty, each of them
takes the mean. And where the loop asks for nothing for so long that DataLoader workers fill their queues even with the
batches that take longest (an evaluation, a checkpoint, a step that stalls), they are then starved however alike batches
are: that is no sign of a short queue. In what comes again and again, as an evaluation or pictures that are saved, a
longer one would be filled: no further than it holds, however long a pause is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Smoothing:
    """Of one loader. `starved_ns`: time of all its DataLoader workers, without those pauses of the loop. Of the batches
    that were built in the window: `excess_ns` is what they took above their mean, `median_ns` and `p95_ns` what each
    took. Time in which a worker, on average, is starved: `ahead_ns` while the loop waits for another DataLoader,
    `paused_ns` in those pauses, of which there are `pauses`, where they come again. `ahead_most_ns`, `paused_most_ns`:
    of that, what it could build for a queue of twice the length, until that is full as well.
    """

    starved_ns: int
    excess_ns: float
    median_ns: float
    p95_ns: float
    ahead_ns: float = 0.0
    paused_ns: float = 0.0
    pauses: int = 0
    ahead_most_ns: float = 0.0
    paused_most_ns: float = 0.0


def find_smoothing(
    starved: Sequence[Intervals],
    batches: BatchTimes,
    window: Window,
    loader: int,
    prefetch: int,
    apart: BoolArray,
    ahead: Intervals = EMPTY,
) -> Smoothing | None:
    """`starved`: of each worker process. `apart`: batches that do not count. `ahead`: waits for other DataLoaders in
    which workers build on. None where no build time is known.
    """
    table, build = batches.table, batches.build_ns
    rows = known(build) & (table.loader == loader)
    rows &= (table.finished_ns >= window.start_ns) & (table.finished_ns < window.end_ns)
    took = build[rows & ~apart] if len(apart) else build[rows]
    if not len(took):
        return None
    gaps = _gaps(batches, window, loader)
    long = gaps.end - gaps.start > prefetch * int(took.max())
    paused = Intervals(gaps.start[long], gaps.end[long])
    median, p95 = np.percentile(took, (50, 95)).tolist()
    again = _coming_again(starved, paused.minus(ahead), least_ns=median / 2)
    # As many batches more as the queue holds now, of the longer ones: a few may all be such.
    held_ns = prefetch * max(p95, float(took.mean()))
    ahead_most, paused_most = _held(starved, ahead, paused.minus(ahead) if again else EMPTY, gaps, held_ns)
    return Smoothing(
        starved_ns=sum(part.minus(paused).total_ns for part in starved),
        excess_ns=float(np.maximum(0.0, took - took.mean()).sum()),
        median_ns=median,
        p95_ns=p95,
        ahead_ns=_mean_ns(starved, ahead),
        paused_ns=sum(again),
        pauses=len(again),
        ahead_most_ns=ahead_most,
        paused_most_ns=min(paused_most, sum(again)),
    )


def _held(
    starved: Sequence[Intervals], ahead: Intervals, paused: Intervals, gaps: Intervals, held_ns: float
) -> tuple[float, float]:
    """Of the time in which a worker is starved while the loop waits for other DataLoaders (`ahead`) and in its pauses,
    no more than `held_ns` from one batch that the loop takes to the next: an evaluation waits for many batches, and
    fills the queue once.
    """
    of_ahead, of_paused = (_mean_in_each(starved, part, gaps) for part in (ahead, paused))
    first = np.minimum(of_ahead, held_ns)
    return float(first.sum()), float(np.minimum(of_paused, held_ns - first).sum())


def _mean_in_each(starved: Sequence[Intervals], within: Intervals, gaps: Intervals) -> npt.NDArray[np.float64]:
    total = np.zeros(len(gaps))
    for part in starved:
        total += part.intersect(within).overlap(gaps.start, gaps.end)
    return total / max(1, len(starved))


def _coming_again(starved: Sequence[Intervals], paused: Intervals, least_ns: float) -> list[float]:
    """How long a worker is starved in each of those pauses in which that is worth a batch; empty of a lone one."""
    each = (Intervals(paused.start[row : row + 1], paused.end[row : row + 1]) for row in range(len(paused.start)))
    long = [ns for ns in (_mean_ns(starved, pause) for pause in each) if ns >= least_ns]
    return long if len(long) > 1 else []


def _mean_ns(starved: Sequence[Intervals], within: Intervals) -> float:
    return sum(part.intersect(within).total_ns for part in starved) / max(1, len(starved))


def _gaps(batches: BatchTimes, window: Window, loader: int) -> Intervals:
    """Times in which the loop does not wait for a batch of that loader."""
    mine = (batches.table.loader == loader) & known(batches.wait_start_ns)
    if not mine.any():
        return EMPTY
    waits = Intervals.union(batches.wait_start_ns[mine], batches.wait_end_ns[mine])
    return Intervals.union([window.start_ns], [window.end_ns]).minus(waits)
