"""Columns beside the event table: which rows are steps, stages, copies and collectives, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import ITER, Stage
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals


@dataclass(frozen=True, slots=True)
class StepSpans:
    """ProfilerStep spans: row of the event table and step number, by start time."""

    row: npt.NDArray[np.intp]
    number: Int64Array


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """What a recorder wrote beside its spans, one row per stage span; -1 where it did not.

    cpu_ns   thread CPU time
    bytes    size of the stage's result
    index    dataset index of a sample
    batch, epoch   of the batch that it belongs to
    files    of few samples, by row: the paths that they were read from
    """

    cpu_ns: Int64Array
    bytes: Int64Array
    index: Int64Array
    batch: Int64Array
    epoch: Int64Array
    files: Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class StageSpans:
    """Spans that are stages: row of the event table, and index into `stages`. Waits are stages of kind `wait`.

    A wait inside another is no stage of its own; `inner_waits` are the times of those on the training thread.
    """

    row: npt.NDArray[np.intp]
    stage: npt.NDArray[np.int32]
    stages: tuple[Stage, ...]
    inner_waits: Intervals = EMPTY

    def is_kind(self, kind: str) -> npt.NDArray[np.bool_]:
        matches = np.array([stage.kind == kind for stage in self.stages], dtype=np.bool_)
        return matches[self.stage] if len(matches) else np.zeros(0, dtype=np.bool_)

    def is_iter(self) -> npt.NDArray[np.bool_]:
        """Waits in ``iter(loader)`` alone."""
        alone = np.array([stage.label.endswith(ITER) for stage in self.stages], dtype=np.bool_)
        return self.is_kind("wait") & alone[self.stage] if len(alone) else np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """Memcpys: row of the event table (ascending), and bytes moved, -1 where the trace does not say."""

    row: npt.NDArray[np.intp]
    bytes: Int64Array


@dataclass(frozen=True, slots=True)
class CollectiveFacts:
    """Rows of the event table (ascending) that say which collective of which process group they belong to: `group` is
    an index into `groups`, `number` counts collectives of that group, -1 where the trace does not say.
    """

    row: npt.NDArray[np.intp]
    group: Int64Array
    number: Int64Array
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """One series of a counter, named as in `trace_format.COUNTERS`: ``host::cpu``, ``core 0``. A rate stands at the
    beginning of the time that it is of, so every value holds until the next sample (`holds_until`).
    """

    counter: str
    series: str
    time_ns: Int64Array  # ascending
    value: npt.NDArray[np.float64]


def holds_until(time_ns: Int64Array) -> Int64Array:
    """When the value of each sample ends. The last one holds for as long as the one before it."""
    moments, place = np.unique(time_ns, return_inverse=True)
    if not len(moments):
        return time_ns
    last = moments[-1] - moments[-2] if len(moments) > 1 else 1
    return np.append(moments[1:], moments[-1] + last)[place]
