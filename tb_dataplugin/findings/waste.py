"""Work that brings nothing: samples read twice or never, DataLoader workers without work, settings without effect.

What is counted is what the capture has of an epoch, which may be less than all of it: also where some of its steps
were chosen, as those alone show less. Only samples that are read again are counted in the chosen steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.drawn_again import DrawnAgain, find_drawn_again
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import UNKNOWN_NS, LoaderInfo
from tb_dataplugin.ranks.indices import Indices, read_indices

LEAST_SAMPLES: Final = 16
"""Fewer may be the same by chance."""

LEAST_SIZES: Final = 6
"""Different sizes that a worker's results have at least: equal ones show nothing where all are of one size."""

USUAL_SIZE: Final = 0.5
"""Share of results of one size, from which those show nothing either."""

LEAST_RESULTS: Final = 12
SAME: Final = 0.98
"""Share of results, in their order, from which two workers have read the same."""

SAME_ORDER: Final = 0.95
"""Share of samples that are in the same batch of two epochs."""


@dataclass(frozen=True, slots=True)
class Again:
    """Of `samples` read in an epoch, `again` had been read before, as recorded: `whole`, from its start."""

    samples: int
    again: int
    whole: bool = True

    @property
    def share(self) -> float:
        return self.again / self.samples


@dataclass(frozen=True, slots=True)
class Twins:
    """DataLoader workers of an iterable dataset that read the same items. `share`: of all items, those read before."""

    workers: int
    share: float


@dataclass(frozen=True, slots=True)
class Unused:
    """`idle` of `workers` built no batch. `batches` of an epoch, where that is why; else None."""

    idle: int
    workers: int
    batches: int | None = None

    @property
    def share(self) -> float:
        return self.idle / self.workers


@dataclass(frozen=True, slots=True)
class Tail:
    """Samples of each epoch that `drop_last` leaves out."""

    left_out: int
    samples: int
    same_ones: bool
    """The order is the same in every epoch, so they are never read."""

    @property
    def share(self) -> float:
        return self.left_out / self.samples


@dataclass(frozen=True, slots=True)
class WasteSignals:
    """None, or False: there is none, or the capture does not show it."""

    again: Again | None = None
    twins: Twins | None = None
    twins_unknown: str = ""
    """Why the DataLoader workers of an iterable dataset cannot be compared; else ""."""
    unused: Unused | None = None
    tail: Tail | None = None
    same_order: float | None = None
    """Share of samples that two epochs have in the same batch, although the sampler is to shuffle."""
    pins_for_nothing: bool = False
    """The loader pins its batches, and the trace has no device."""
    drawn_again: DrawnAgain | None = None
    """Samples that the dataset builds and does not return."""


def read_waste(results: Results) -> WasteSignals:
    settings, indices = results.settings, read_indices(results)
    if settings is None or results.trace.info.mode == "replay":
        return WasteSignals()
    read = _read_by_workers(results, settings)
    return WasteSignals(
        again=None if indices is None else find_again(indices),
        twins=None if read is None else find_twins(list(filter(_shows, read))),
        twins_unknown="" if read is None else _why_unknown(read),
        unused=_unused(results, settings),
        tail=find_tail(settings),
        same_order=None if indices is None or not settings.shuffle else find_same_order(indices),
        pins_for_nothing=bool(settings.pin_memory) and not results.devices and not results.trace.info.devices,
        drawn_again=find_drawn_again(results),
    )


def find_again(indices: Indices) -> Again | None:
    """Of the steps that are looked at: where in the epoch it had been read before does not matter."""
    chosen = indices.chosen if len(indices.chosen) else np.ones(len(indices), dtype=np.bool_)
    if indices.replacement or chosen.sum() < LEAST_SAMPLES:
        return None
    _, first = np.unique(np.stack((indices.epoch, indices.index), axis=1), axis=0, return_index=True)
    again = chosen.copy()
    again[first] = False
    return Again(int(chosen.sum()), int(again.sum()), _has_starts(indices))


def _has_starts(indices: Indices) -> bool:
    """Whether each of the epochs was recorded from its first batch on, as far as batches are known."""
    if len(indices.batch) != len(indices):
        return True
    first = [indices.batch[indices.epoch == epoch].min() for epoch in np.unique(indices.epoch)]
    return all(batch <= 0 for batch in first)


def find_same_order(indices: Indices) -> float | None:
    """Of the two epochs that most samples were seen of."""
    epochs, counts = np.unique(indices.epoch, return_counts=True)
    if len(epochs) < 2 or len(indices.batch) != len(indices):
        return None
    first, second = epochs[np.argsort(-counts, kind="stable")[:2]]
    sets = [_placed(indices, epoch) for epoch in (int(first), int(second))]
    common = {batch for batch, _ in sets[0]} & {batch for batch, _ in sets[1]}
    mine, theirs = ({place for place in placed if place[0] in common} for placed in sets)
    if min(len(mine), len(theirs)) < LEAST_SAMPLES or len(common) < 2:
        return None
    return len(mine & theirs) / max(len(mine), len(theirs))


def _placed(indices: Indices, epoch: int) -> set[tuple[int, int]]:
    here = (indices.epoch == epoch) & (indices.batch >= 0)
    return set(zip(indices.batch[here].tolist(), indices.index[here].tolist(), strict=True))


def find_tail(settings: LoaderInfo) -> Tail | None:
    samples, size = settings.sampler_length, settings.batch_size
    if not settings.drop_last or not samples or not size or samples < size:
        return None
    return Tail(samples % size, samples, not settings.shuffle)


def _read_by_workers(results: Results, settings: LoaderInfo) -> list[Int64Array] | None:
    """By DataLoader worker of an iterable dataset, the sizes of what its stages return, in their order, in those of
    its batches that the capture has of each worker. None where there are no such workers.
    """
    if not settings.iterable or not settings.num_workers or settings.num_workers < 2:
        return None
    found = list(_sizes(results, settings.num_workers))
    common = set.intersection(*(set(batches.tolist()) for batches, _ in found)) if found else set()
    return [sizes[np.isin(batches, list(common))] for batches, sizes in found]


def _sizes(results: Results, workers: int) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Of each DataLoader worker of the main loader, in its first epoch: which of its own batches, and the size."""
    tree, facts = results.tree, results.trace.span_facts
    number = results.use.main
    for track, worker in results.trace.worker_tracks().items():
        rows = np.flatnonzero((tree.track == track) & (facts.bytes > 0))
        if worker.loader != number or not len(rows):
            continue
        rows = rows[facts.epoch[rows] == facts.epoch[rows].min()]
        rows = rows[np.argsort(tree.start_ns[rows], kind="stable")]
        yield facts.batch[rows] // workers, facts.bytes[rows]


def _why_unknown(read: Sequence[Int64Array]) -> str:
    if sum(map(_shows, read)) > 1:
        return ""
    if sum(len(sizes) > 0 for sizes in read) < 2:
        return "What several DataLoader workers read was not recorded"
    if min(map(len, read)) < LEAST_RESULTS:
        return "Too few items of each DataLoader worker have a recorded size to compare them by it"
    return (
        "What was measured of the items that DataLoader workers read (arrays, tensors, images and text in them) is "
        "nearly all of one size, and cannot be compared by it"
    )


def _shows(sizes: Int64Array) -> bool:
    telling = sizes[~_is_usual(sizes)]
    return len(telling) >= LEAST_RESULTS and len(np.unique(telling)) >= LEAST_SIZES


def _is_usual(sizes: Int64Array) -> npt.NDArray[np.bool_]:
    """Of the size that most of them have, where there is one."""
    values, counts = np.unique(sizes, return_counts=True)
    has_usual = len(sizes) > 0 and counts.max() >= USUAL_SIZE * len(sizes)
    return sizes == values[counts.argmax()] if has_usual else np.zeros(len(sizes), dtype=np.bool_)


def find_twins(sizes: Sequence[Int64Array]) -> Twins | None:
    """`sizes`: of each worker. None where no two are the same."""
    groups: list[list[Int64Array]] = []
    for mine in sizes:
        group = next((group for group in groups if _same(group[0], mine)), None)
        if group is None:
            groups.append([mine])
        else:
            group.append(mine)
    twins = [group for group in groups if len(group) > 1]
    if not twins:
        return None
    total = sum(map(len, sizes))
    again = sum(sum(sorted(map(len, group))[:-1]) for group in twins)
    return Twins(sum(map(len, twins)), again / total)


def _same(mine: Int64Array, other: Int64Array) -> bool:
    count = min(len(mine), len(other))
    mine, other = mine[:count], other[:count]
    telling = ~(_is_usual(mine) & _is_usual(other))
    return bool(telling.any()) and float((mine == other)[telling].mean()) >= SAME


def _unused(results: Results, settings: LoaderInfo) -> Unused | None:
    """In the epoch that most batches were seen of, if its beginning was."""
    pipeline, workers = results.trace.info.pipeline, settings.num_workers or 0
    if pipeline is None or pipeline.batches is None or workers < 2 or settings.in_order is False:
        return None
    batches = pipeline.batches
    is_built = (batches.finished_ns != UNKNOWN_NS) & (batches.number >= 0)
    mine = (batches.loader == results.use.main) & is_built
    epochs, counts = np.unique(batches.epoch[mine], return_counts=True)
    if not len(epochs):
        return None
    epoch = int(epochs[counts.argmax()])
    here = mine & (batches.epoch == epoch)
    if not (batches.number[here] == 0).any():
        return None
    is_over = bool((epochs > epoch).any())
    seen, most = len(np.unique(batches.worker[here])), int(batches.number[here].max()) + 1
    if seen >= workers:
        return None
    if settings.iterable:
        return Unused(workers - seen, workers) if int(counts.max()) > workers or is_over else None
    return Unused(workers - most, workers, most) if is_over and most < workers else None
