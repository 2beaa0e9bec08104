"""What a step takes, and gets of what was counted over the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_table import StepRow
from tb_dataplugin.whatif.loop import Floats


@dataclass(frozen=True, slots=True)
class Counted:
    """Batches of the window, and the steps that they are of: a loop may be without one of these, and has no more
    batches and samples in each step for that.
    """

    batches: int
    steps: int

    @property
    def batches_per_step(self) -> float:
        return float(max(1, round(self.batches / self.steps)))


def samples_per_step(results: Results, counted: Counted) -> float | None:
    """As received: the last batch of an epoch has fewer samples than the others."""
    assert results.settings is not None
    if results.throughput is not None and results.throughput.item != "batch":
        return results.throughput.samples / counted.steps
    size = results.settings.batch_size
    return None if size is None else size * counted.batches_per_step


def pageable_ns(results: Results, steps: int) -> float | None:
    """Copies of which the trace does not say from what memory they come count for nothing."""
    copies = [copies.host_ns * copies.pageable / copies.count for copies in results.copies if copies]
    return sum(copies) / steps if any(copies) else None


def outside_waits_ns(rows: Sequence[StepRow]) -> Floats:
    """What each step took, but for its waits for data."""
    return np.array([row.duration_ns - (row.data_wait_ns or 0) for row in rows], dtype=np.float64)


def mean_wait_ns(results: Results, rows: Sequence[StepRow]) -> float:
    """Nanoseconds per step, without starts of epochs."""
    if results.steady and results.steady.wait:
        return results.steady.wait.value
    return float(np.mean([(row.data_wait_ns or 0) - row.apart_ns for row in rows]))
