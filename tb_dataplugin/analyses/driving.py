"""Which recorded loaders are behind what ``prof.steps`` iterates.

As a rule that is a DataLoader itself. What is none (a generator, the other end of a queue) has no settings and builds
no batch: the loop is over the DataLoader whose batches it hands on, one for one, whichever thread of the program takes
them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_dataplugin.analyses.fed_queue import come_one_for_one
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import named_by_loader
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, Trace


def driving_loaders(
    trace: Trace,
    loaders: Sequence[LoaderInfo],
    steps: Steps | None,
    table: BatchTable | None,
    fed: Sequence[Int64Array],
) -> frozenset[int]:
    """Their numbers; what is iterated itself where no DataLoader with workers is seen to be behind it.

    Args:
        fed: per loader, the steps that take batches of it.
    """
    stepped = frozenset(number for number, loader in enumerate(loaders) if loader.stepped)
    if steps is None or table is None or any(loaders[number].num_workers is not None for number in stepped):
        return stepped
    window = Window(int(steps.start_ns.min()), int(steps.end_ns.max()))
    others = sorted({*table.loader.tolist()} - stepped) if stepped else []
    known_ones = (number for number in others if number < len(loaders))
    behind = frozenset(each for each in known_ones if _hands_on(trace, window, table, each, fed[each], len(steps)))
    return behind or stepped


def unmatched_loader(trace: Trace, window: Window, stepped: LoaderInfo) -> LoaderInfo | None:
    """The DataLoader with workers of which other threads take batches while the loop is over `stepped`, which is none:
    they may be for the loop, and are not one for each of its waits. None where the loop's batches are known.
    """
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.batches is None or not stepped.stepped or stepped.num_workers is not None:
        return None
    table, own = pipeline.batches, _own_waits(trace)
    taken = known(table.consumed_ns) & (table.consumed_ns >= window.start_ns) & (table.consumed_ns <= window.end_ns)
    taken &= ~own.contains(table.consumed_ns)
    numbers, counts = np.unique(table.loader[taken], return_counts=True)
    most = int(numbers[counts.argmax()]) if len(numbers) else -1
    return pipeline.loaders[most] if 0 <= most < len(pipeline.loaders) else None


def _own_waits(trace: Trace) -> Intervals:
    """The training thread's waits in ``next()`` of DataLoaders."""
    spans, events = trace.stage_spans, trace.events
    rows = spans.row[spans.is_kind("wait")]
    rows = rows[named_by_loader(trace.names)[events.name[rows]] & (events.track[rows] == trace.training_track)]
    return Intervals.union_of((spans.inner_waits, Intervals.union(events.start_ns[rows], events.end_ns[rows])))


def _hands_on(trace: Trace, window: Window, table: BatchTable, number: int, fed: Int64Array, steps: int) -> bool:
    """Whether what is iterated takes that loader's batches itself, in most of its steps, or a thread for it."""
    mine = (table.loader == number) & known(table.consumed_ns)
    mine &= (table.consumed_ns >= window.start_ns) & (table.consumed_ns <= window.end_ns)
    inside = trace.stage_spans.inner_waits.contains(table.consumed_ns[mine])
    if not len(inside):
        return False
    if 2 * int(np.count_nonzero(inside)) >= len(inside):
        return 2 * len(fed) >= steps
    return come_one_for_one(trace, window, table.consumed_ns[mine])
