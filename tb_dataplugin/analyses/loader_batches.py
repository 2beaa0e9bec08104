"""Which of several DataLoaders each batch came from that the training thread got, as far as a capture shows it.

With DataLoader workers the record has it. Without them a wait holds the samples of its batch: their number tells the
loader where no other one has batches of that size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Window
from tb_dataplugin.model.trace import BatchTable, LoaderInfo, Trace

UNKNOWN_LOADER = -1


@dataclass(frozen=True, slots=True)
class LoaderBatches:
    """One row per wait of the training thread; `loader` is its number, or `UNKNOWN_LOADER`."""

    start_ns: Int64Array
    end_ns: Int64Array
    loader: Int64Array

    def of(self, number: int) -> int:
        return int((self.loader == number).sum())


def find_loader_batches(trace: Trace) -> LoaderBatches:
    spans, events = trace.stage_spans, trace.events
    here = events.track[spans.row] == (UNKNOWN_LOADER if trace.training_track is None else trace.training_track)
    waits = spans.row[spans.is_kind("wait") & here]
    waits = waits[np.argsort(events.start_ns[waits], kind="stable")]
    start, end = events.start_ns[waits], events.end_ns[waits]
    loader = np.full(len(waits), UNKNOWN_LOADER, dtype=np.int64)
    pipeline = trace.info.pipeline
    if pipeline is not None and len(waits):
        samples = np.sort(events.start_ns[spans.row[spans.is_kind("sample") & here]])
        held = np.searchsorted(samples, end) - np.searchsorted(samples, start)
        for number, size in _sizes(pipeline.loaders).items():
            loader[held == size] = number
        if pipeline.batches is not None:
            _put_received(loader, pipeline.batches, start, end)
    return LoaderBatches(start, end, loader)


def _sizes(loaders: tuple[LoaderInfo, ...]) -> dict[int, int]:
    """Samples of a batch by loader: of those without workers whose batches no other of them has the size of."""
    sizes = {number: one.batch_size for number, one in enumerate(loaders) if one.num_workers == 0 and one.batch_size}
    every = list(sizes.values())
    return {number: size for number, size in sizes.items() if every.count(size) == 1}


def _put_received(loader: Int64Array, batches: BatchTable, start: Int64Array, end: Int64Array) -> None:
    rows = known(batches.consumed_ns)
    consumed, numbers = batches.consumed_ns[rows], batches.loader[rows]
    wait = np.searchsorted(start, consumed, side="right") - 1
    inside = (wait >= 0) & (consumed <= end[np.maximum(wait, 0)])
    loader[wait[inside]] = numbers[inside]


def steps_of_loaders(trace: Trace, batches: LoaderBatches) -> list[int]:
    """Per loader of the record, in how many steps a batch of it came; zeros where there are no steps."""
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    steps = find_steps(trace)
    if isinstance(steps, Unavailable):
        return [0] * len(loaders)
    step = np.searchsorted(np.sort(steps.start_ns), batches.end_ns, side="right")
    return [len(np.unique(step[batches.loader == number])) for number in range(len(loaders))]


def in_waits_of_others(trace: Trace, time_ns: Int64Array, main: int) -> npt.NDArray[np.bool_]:
    """Which of these moments lie in a wait for a batch of another loader."""
    found = find_loader_batches(trace)
    if not len(found.start_ns):
        return np.zeros(len(time_ns), dtype=np.bool_)
    wait = np.searchsorted(found.start_ns, time_ns, side="right") - 1
    at = np.maximum(wait, 0)
    other = (found.loader[at] != main) & (found.loader[at] != UNKNOWN_LOADER)
    inside: npt.NDArray[np.bool_] = (wait >= 0) & (time_ns <= found.end_ns[at]) & other
    return inside


@dataclass(frozen=True, slots=True)
class OtherLoaders:
    """What the window has of batches of other loaders than the one that it is about; times in ns."""

    batches: int
    steps: int
    """In which they came; 0: there are no steps."""
    wait_ns: int


def find_other_loaders(trace: Trace, window: Window, main: int) -> OtherLoaders | None:
    """None where no batch is known to be of another loader."""
    found = find_loader_batches(trace)
    rows = (found.loader != main) & (found.loader != UNKNOWN_LOADER)
    rows &= (found.end_ns > window.start_ns) & (found.start_ns < window.end_ns)
    if not rows.any():
        return None
    steps = find_steps(trace)
    starts = np.zeros(0, np.int64) if isinstance(steps, Unavailable) else np.sort(steps.start_ns)
    count = len(np.unique(np.searchsorted(starts, found.end_ns[rows], side="right"))) if len(starts) else 0
    inside = np.minimum(found.end_ns[rows], window.end_ns) - np.maximum(found.start_ns[rows], window.start_ns)
    return OtherLoaders(int(rows.sum()), count, int(inside.sum()))
