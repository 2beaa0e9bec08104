"""Windows that lie in an evaluation: its batches were counted as steps, and they train nothing.

The recorder knows it of batches that were taken without gradients. Of captures that lack this record only the steps'
own work shows it: where each batch is a step, and the program iterates several DataLoaders. A program that trains
nothing evaluates nothing: its batches are its steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_dataplugin.analyses.steps import Steps, find_steps
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.trace import Trace

MOST: Final = 0.5
"""Part of the steps without any work of a training, from which the window is said to be an evaluation's mostly."""

_TRAINING: Final = re.compile(r"autograd::engine::evaluate_function: |\w+Backward\d*$|Optimizer\.")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`kind`: it is recorded; most steps run nothing of a training, and others do; none does, and it may be elsewhere.
    `untrained`: steps that run nothing of a training, of `steps`.
    """

    kind: Literal["recorded", "mostly", "possible"]
    untrained: int
    steps: int


def find_evaluation(trace: Trace) -> Evaluation | None:
    pipeline, steps = trace.info.pipeline, find_steps(trace)
    if pipeline is None or trace.info.mode != "train" or pipeline.step_source != "batch":
        return None
    if not isinstance(steps, Steps):
        return None
    if pipeline.evaluates is not None:
        return Evaluation("recorded", len(steps), len(steps)) if pipeline.evaluates else None
    if sum(bool(loader.iterated) for loader in pipeline.loaders) < 2:
        return None
    training = _training_starts(trace)
    if training is None:
        return None
    places = np.searchsorted(steps.start_ns, training, side="right") - 1
    untrained = len(steps) - len(np.unique(places[(places >= 0) & (training < steps.end_ns[-1])]))
    if untrained < MOST * len(steps):
        return None
    return Evaluation("possible" if untrained == len(steps) else "mostly", untrained, len(steps))


def _training_starts(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """When operators of backward passes and optimizers began; None where no operators were recorded."""
    events = trace.events
    operators = events.is_category(Category.CPU_OP)
    if not operators.any():
        return None
    names = np.array([bool(_TRAINING.match(name)) for name in trace.names], dtype=np.bool_)
    return events.start_ns[names[events.name]]
