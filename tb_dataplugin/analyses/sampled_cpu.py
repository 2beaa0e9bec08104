"""CPU time of the training thread in parts of its time, by samples of its state: where no span has it recorded."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.trace import Trace

LEAST_SAMPLES: Final = 10
"""In a part; with fewer, a share of a half has a 95% interval of more than a third to either side."""


def sampled_cpu_ns(trace: Trace, part: Intervals) -> float | None:
    """In all of that time; None where too few samples fall into it."""
    pipeline = trace.info.pipeline
    thread = pipeline.thread_samples.training if pipeline and pipeline.thread_samples else None
    if thread is None:
        return None
    inside = part.contains(thread.time_ns)
    weight = np.where(inside, thread.weight_ns, 0)
    if inside.sum() < LEAST_SAMPLES or not weight.any():
        return None
    ran = (weight * (1 - thread.delayed))[thread.is_running].sum()
    return float(ran / weight.sum() * part.total_ns)
