"""How much of a step's own work is torch's profiler: the operators of the training thread times what recording one of
them adds, which `annotate` measures when a window opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.units import duration, plural, ratio

NOTICED: Final = 1.1
"""From here on it is said: shares of lines may be some points too high."""
HEAVY: Final = 1.3
"""From here on nothing of the capture is called measured."""
MOST: Final = 0.8
"""Of the step's own work: a probe made in a busy moment costs more than the operators did."""


@dataclass(frozen=True, slots=True)
class ProfilerWeight:
    """Per step, without data wait and waiting for a CPU: `own_us` as recorded, `added_us` of it by the profiler for so
    many `operators`.
    """

    own_us: float
    added_us: float
    operators: float
    operator_us: float

    @property
    def ratio(self) -> float:
        """How many times as long the profiler makes it."""
        return self.own_us / (self.own_us - self.added_us)


def find_profiler_weight(
    trace: Trace, window: Window, steps: StepTable | None, loader: LoaderWait | None
) -> ProfilerWeight | None:
    """None where the cost of an operator or the steps are not known, and in a replay, which has no step.

    Without DataLoader workers samples are made in the wait, by operators as well: that belongs to the step then.
    """
    pipeline, track = trace.info.pipeline, trace.training_track
    each_us = pipeline.operator_us if pipeline else None
    if pipeline is None or pipeline.mode != "train" or each_us is None or track is None or steps is None:
        return None
    waits = EMPTY if loader is None or not any(each.num_workers for each in pipeline.loaders) else loader.waits
    events = trace.events
    start = events.start_ns[events.is_category(Category.CPU_OP) & (events.track == track)]
    start = start[(start >= window.start_ns) & (start < window.end_ns)]
    count = len(steps.rows)
    operators = int((~waits.contains(start)).sum()) / count
    own_us = _running_us(trace, (window.duration_ns - waits.clip(window).total_ns) / count / 1000)
    added_us = min(operators * each_us, MOST * own_us)
    return ProfilerWeight(own_us, added_us, operators, each_us) if added_us > 0 else None


def _running_us(trace: Trace, own_us: float) -> float:
    """Less what the training thread waited for a CPU, which is known of the whole capture."""
    thread, steps = trace.info.pipeline and trace.info.pipeline.training_thread, find_steps(trace)
    if not thread or isinstance(steps, Unavailable):
        return own_us
    ran_us, delayed_us = thread.cpu_ns / len(steps) / 1000, thread.run_delay_ns / len(steps) / 1000
    return max(own_us - delayed_us, min(own_us, ran_us))


def weight_sentence(weight: ProfilerWeight) -> str:
    """Without a full stop."""
    return (
        f"torch's profiler makes a step's own work about {ratio(weight.ratio)} as long: {duration(weight.own_us)} "
        f"instead of about {duration(weight.own_us - weight.added_us)} ({plural(round(weight.operators), 'operator')} "
        f"per step, about {duration(weight.operator_us)} each). Lines with many small operators look too hot"
    )
