"""How long the training step takes without the data wait, and how much of a CPU it keeps busy: from a capture."""

from __future__ import annotations

from typing import Final, NamedTuple

from tb_dataplugin.pipeline import loop_of
from tb_dataplugin.reader.discovery import TraceFile

WITHOUT: Final = "that of the capture without its data wait and its waits for a CPU"


class TrainingStep(NamedTuple):
    """Milliseconds for each batch, without data wait and waits for a CPU, which come again where that is short; the
    share of it that keeps a CPU busy; batches in one step.
    """

    ms: float
    cpu: float
    batches: float


def step_from(trace: TraceFile) -> TrainingStep:
    """Raises UnreadableTrace, and NothingToReport for a capture that does not say."""
    loop, _ = loop_of(trace)
    batches = max(loop.batches_per_step, 1e-9)
    return TrainingStep(float(loop.own_ns.mean()) / batches / 1e6, min(1.0, max(0.0, loop.own_cpus)), batches)
