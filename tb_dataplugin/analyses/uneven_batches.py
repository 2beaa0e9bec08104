"""Whether steps take longer where their batches are larger, as they do when batches are padded to their longest sample.

A step's own time (without its data wait) stands beside the size of the batches that it took. Whether one follows the
other is tested against chance: sizes are dealt to the steps anew, and their covariance has to stay below. It has to be
a matter of more than one step, and of no more time than bytes can take. Steps that also begin an epoch, iterate
another DataLoader, or take many more batches than others (an evaluation), take longer for that: they are left out.

That alone is no reason to put samples of like length together: that may be so already, or nothing may be padded. What
is known of the samples (`batch_samples_alike`) stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.batch_samples_alike import BatchSamples
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loop import Loop
from tb_dataplugin.analyses.stages import Path, StageTree
from tb_dataplugin.analyses.standing_out import standing_out
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.model.trace import UNKNOWN_NS, Trace

FEWEST_STEPS: Final = 8
"""Of fewer, one order in a hundred is not to be told from chance."""
DEALT: Final = 2000
BY_CHANCE: Final = 0.01
WITHOUT_ONE: Final = 0.1
"""Chance of what is left of it without the step that speaks most for it: one step may be large and slow by accident."""
POWER: Final = 2
"""A batch that is twice as large takes at most four times as long, as attention does with the length of sequences. What
takes longer has another reason.
"""

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnevenBatches:
    """Of the steps of which the size of their batches is known. Times are without data wait, sizes in bytes.

    `largest` of `steps`, whose batches have most of what is beyond the usual size, have `largest_ns` of `own_ns`, with
    `largest_bytes` on average, where the median step has `usual_bytes`. `excess_ns`: what a straight line through all
    steps gives the bytes beyond the usual size; `padding_ns`: what it gives those that batches have beyond their
    samples, None where samples have no size. `is_grouped`: samples differ from batch to batch, as the batches' sizes
    do, and hardly within.
    """

    steps: int
    largest: int
    own_ns: float
    largest_ns: float
    usual_bytes: float
    largest_bytes: float
    excess_ns: float
    ns_per_byte: float
    padding_ns: float | None = None
    is_grouped: bool = False


def find_uneven_batches(
    trace: Trace, tree: StageTree, table: StepTable | None, loop: Loop, use: LoaderUse, batches: BatchTimes | None
) -> UnevenBatches | None:
    """None where own times do not follow sizes, or too little is known of them."""
    if table is None or loop.loader is None or len(table.rows) < FEWEST_STEPS:
        return None
    steps, spans = _Steps.of(table), np.flatnonzero(_is_collate(tree.paths)[tree.node])
    step = np.full(len(spans), -1, dtype=np.int64)
    own = (tree.track[spans] == trace.training_track) & (
        loop.waits.overlap(tree.start_ns[spans], tree.end_ns[spans]) > 0
    )
    step[own] = steps.at(tree.start_ns[spans[own]])
    if batches is not None:
        theirs = np.isin(tree.track[spans], _tracks(trace, use.in_workers))
        step[theirs] = _steps_of(trace.span_facts, spans[theirs], batches, use.in_workers, steps)
    bytes_of = trace.span_facts.bytes[spans]
    sizes = _bytes_by_step(bytes_of, step, len(table.rows))
    times = np.array([row.duration_ns - (row.data_wait_ns or 0) for row in table.rows], dtype=np.float64)
    counts = np.bincount(step[step >= 0], minlength=len(table.rows))
    known = (sizes > 0) & np.array([row.apart_ns == 0 for row in table.rows], dtype=np.bool_)
    known &= counts <= 2 * np.median(counts) + 1  # as in `inner_loops`
    found = judge(times[known], sizes[known]) if known.sum() >= FEWEST_STEPS else None
    if found is None:
        return None
    counted = np.flatnonzero((step >= 0) & np.append(known, False)[step] & (bytes_of > 0))
    return _with_samples(found, BatchSamples.of(trace, tree, spans).of_batches(counted), bytes_of.astype(np.float64))


def _with_samples(found: UnevenBatches, samples: BatchSamples, sizes: Floats) -> UnevenBatches:
    """`sizes`: by place of the batch."""
    padding, ranks = samples.padding_bytes(sizes), samples.ranks_by_batch()
    return replace(
        found,
        padding_ns=None if padding is None else padding * found.ns_per_byte,
        is_grouped=ranks is not None and _chance(ranks[1], sizes[ranks[0]]) < BY_CHANCE,
    )


def judge(own: Floats, sizes: Floats) -> UnevenBatches | None:
    """By step: its own time, and the bytes of its batches."""
    if not _follows(own, sizes):
        return None
    usual, slope = float(np.median(sizes)), _slope(own, sizes)
    beyond = np.maximum(0.0, sizes - usual)
    excess = slope * float(beyond.sum())
    if excess <= 0 or excess > float(np.median(own)) * float(np.maximum(0.0, (sizes / usual) ** POWER - 1).sum()):
        return None
    largest = _with_most(beyond)
    return UnevenBatches(
        steps=len(sizes),
        largest=len(largest),
        own_ns=float(own.sum()),
        largest_ns=float(own[largest].sum()),
        usual_bytes=usual,
        largest_bytes=float(sizes[largest].mean()),
        excess_ns=excess,
        ns_per_byte=slope,
    )


def _follows(own: Floats, sizes: Floats) -> bool:
    """Whether own times go with sizes, more than by chance and more than in one step."""
    if _chance(own, sizes) >= BY_CHANCE:
        return False
    most = int(np.argmax((own - own.mean()) * (sizes - sizes.mean())))
    return _chance(np.delete(own, most), np.delete(sizes, most)) < WITHOUT_ONE


def _chance(own: Floats, sizes: Floats) -> float:
    """How often sizes that have nothing to do with own times go with them as much."""
    spread, apart = sizes - sizes.mean(), own - own.mean()
    random = np.random.default_rng(len(sizes))
    dealt = np.array([random.permutation(spread) @ apart for _ in range(DEALT)])
    found = float(spread @ apart)
    # One of the orders is the one that was found; a tie counts as chance.
    return (1 + int((dealt >= found * (1 - 1e-9)).sum())) / (1 + DEALT) if found > 0 else 1.0


def _with_most(beyond: Floats) -> Rows:
    """Places of the largest sizes that have most of `beyond`, what sizes have above the usual one. They end where sizes
    part: of batches that are equal but for noise there are all or none, so that no number of them is told that is an
    accident.
    """
    found = np.zeros(len(beyond), dtype=np.bool_)
    while 2 * float(beyond[found].sum()) <= float(beyond.sum()):
        left = np.flatnonzero(~found)
        found[left[standing_out(beyond[left].tolist())]] = True
    return np.flatnonzero(found)


def _slope(own: Floats, sizes: Floats) -> float:
    """Of own time by size, over all steps."""
    spread = sizes - sizes.mean()
    return float(spread @ (own - own.mean())) / float(spread @ spread)


@dataclass(frozen=True, slots=True)
class _Steps:
    start_ns: Int64Array
    end_ns: Int64Array

    @classmethod
    def of(cls, table: StepTable) -> _Steps:
        begun = int64([row.start_ns for row in table.rows])
        return cls(begun, begun + int64([row.duration_ns for row in table.rows]))

    def at(self, time: Int64Array) -> Int64Array:
        """The place of the step that is on then, -1: none."""
        place = np.searchsorted(self.start_ns, time, side="right") - 1
        return np.where((place >= 0) & (time < self.end_ns[np.maximum(place, 0)]), place, -1)


def _is_collate(paths: tuple[Path, ...]) -> npt.NDArray[np.bool_]:
    """By node: its stage makes a batch, and none around it does."""
    kinds = [[stage.kind for stage in path] for path in paths]
    return np.array([path[-1] == "collate" and path.count("collate") == 1 for path in kinds], dtype=np.bool_)


def _tracks(trace: Trace, loader: int) -> list[int]:
    return [track for track, worker in trace.worker_tracks().items() if worker.loader == loader]


def _steps_of(facts: SpanFacts, spans: Rows, batches: BatchTimes, loader: int, steps: _Steps) -> Int64Array:
    """Per span of a DataLoader worker, the step that took its batch."""
    table, ended = batches.table, batches.wait_end_ns
    taken = np.flatnonzero((table.loader == loader) & (ended != UNKNOWN_NS) & (table.number >= 0))
    places = steps.at(ended[taken] - 1)  # a wait ends in its step
    numbers = zip(table.epoch[taken].tolist(), table.number[taken].tolist(), strict=True)
    step_of = dict(zip(numbers, places.tolist(), strict=True))
    wanted = zip(facts.epoch[spans].tolist(), facts.batch[spans].tolist(), strict=True)
    return int64([step_of.get(batch, -1) for batch in wanted])


def _bytes_by_step(sizes: Int64Array, step: Int64Array, steps: int) -> Floats:
    """-1 where the size of a batch is not known."""
    sizes, step = sizes[step >= 0], step[step >= 0]
    sums = np.bincount(step, np.maximum(0, sizes), minlength=steps)
    unknown = np.bincount(step, sizes < 0, minlength=steps) > 0
    found: Floats = np.where(unknown | (sums == 0), -1.0, sums)
    return found
