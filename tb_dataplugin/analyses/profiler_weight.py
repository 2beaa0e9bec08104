"""How much of a step's own work is torch's profiler: by the same work in the steps before the window, which the loop
over `annotate.profile`'s ``prof.steps`` times; else the operators of the training thread times what recording one of
them adds, by what `annotate` measures of a small one when a window opens, and its spans likewise where it makes the
samples itself. That is a least: what recording slows besides (code and data that it pushes out of caches, work for each
batch) is in neither, and steps of 0.16 ms with 32 cheap samples became 0.43 ms where both explain 0.13 ms of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.units import duration, plural, ratio

NOTICED: Final = 1.1
"""From here on it is said: shares of lines may be some points too high."""
HEAVY: Final = 1.3
"""From here on nothing of the capture is called measured."""
FEWEST_TIMED: Final = 8
"""Steps before the window and in it, to compare their durations."""
MOST_SPREAD: Final = 0.3
"""Of the median: how far the middle half of them may be apart."""
TIMES_PROBED: Final = 2.0
"""What recording an operator of a step adds, over what it adds to the small one that is called again and again: 2.0 to
3.1 in six models (docs/lines.md), so at least that."""
NAMED: Final = 0.1
"""Part of what recording adds from which spans are named for it."""
MOST: Final = 0.8
"""Of the step's own work: a probe made in a busy moment costs more than the operators did."""


@dataclass(frozen=True, slots=True)
class ProfilerWeight:
    """Per step, without data wait: `own_us` as recorded, `added_us` of it by the profiler; 0 where it adds nothing.

    `before`: steps that were timed before the window; the durations are medians then. 0: `added_us` is for so many
    `operators` and `spans`, at least, and the durations are means without waiting for a CPU.
    """

    own_us: float
    added_us: float
    operators: float
    operator_us: float
    before: int = 0
    spans: float = 0.0
    span_us: float = 0.0

    @property
    def ratio(self) -> float:
        """How many times as long recording makes it."""
        return self.own_us / (self.own_us - self.added_us)

    @property
    def profiler_us(self) -> float:
        """Of `added_us`, without spans."""
        return self.added_us * (1 - self._spans_part)

    @property
    def names_spans(self) -> bool:
        return self._spans_part >= NAMED

    @property
    def _spans_part(self) -> float:
        spans_us, operators_us = self.spans * self.span_us, self.operators * self.operator_us
        return spans_us / (spans_us + operators_us) if spans_us else 0.0


def find_profiler_weight(
    trace: Trace, window: Window, steps: StepTable | None, loader: LoaderWait | None
) -> ProfilerWeight | None:
    """None where the cost of an operator or the steps are not known, and in a replay, which has no step."""
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.mode != "train" or steps is None:
        return None
    if loader is not None and pipeline.own_us_before:
        timed = _timed(np.array(pipeline.own_us_before), _own_us(steps))
        if timed is not None:
            return timed
    return _counted(trace, window, steps, loader)


def _own_us(steps: StepTable) -> npt.NDArray[np.float64]:
    """Of each step, without data wait."""
    return np.array([(row.duration_ns - (row.data_wait_ns or 0)) / 1000 for row in steps.rows])


def _timed(before: npt.NDArray[np.float64], inside: npt.NDArray[np.float64]) -> ProfilerWeight | None:
    """None where there are few steps, or they differ too much among themselves for two medians to be compared."""
    for durations in (before, inside):
        low, middle, high = np.percentile(durations, (25, 50, 75)) if len(durations) else (0.0, 0.0, 0.0)
        if len(durations) < FEWEST_TIMED or high - low > MOST_SPREAD * middle:
            return None
    own_us, before_us = float(np.median(inside)), float(np.median(before))
    return ProfilerWeight(own_us, max(0.0, own_us - before_us), 0.0, 0.0, len(before))


def _counted(trace: Trace, window: Window, steps: StepTable, loader: LoaderWait | None) -> ProfilerWeight | None:
    """By operators.

    Without DataLoader workers samples are made in the wait, by operators as well, and in spans: that belongs to the
    step then.
    """
    pipeline, track, each_us = trace.info.pipeline, trace.training_track, operator_cost_us(trace)
    if pipeline is None or each_us is None or track is None:
        return None
    has_workers = any(each.num_workers for each in pipeline.loaders)
    waits = EMPTY if loader is None or not has_workers else loader.waits
    start = recorded_operators(trace, track)
    start = start[(start >= window.start_ns) & (start < window.end_ns)]
    count = len(steps.rows)
    operators = int((~waits.contains(start)).sum()) / count
    own_us = _running_us(trace, (window.duration_ns - waits.clip(window).total_ns) / count / 1000)
    spans, span_us = (0.0, 0.0) if has_workers else _spans(trace)
    added_us = min(operators * each_us + spans * span_us, MOST * own_us)
    return ProfilerWeight(own_us, added_us, operators, each_us, 0, spans, span_us) if added_us > 0 else None


def _spans(trace: Trace) -> tuple[float, float]:
    """Of the training thread: how many per step of the capture, and what one adds."""
    pipeline, steps = trace.info.pipeline, find_steps(trace)
    if pipeline is None or not pipeline.marker_us or not pipeline.marker_count or isinstance(steps, Unavailable):
        return 0.0, 0.0
    return pipeline.marker_count / len(steps), pipeline.marker_us


def operator_cost_us(trace: Trace) -> float | None:
    """That recording one operator of a whole loop adds, at least; None where nothing was measured."""
    probed_us = trace.info.pipeline.operator_us if trace.info.pipeline else None
    return TIMES_PROBED * probed_us if probed_us is not None and probed_us >= 0 else None


def recorded_operators(trace: Trace, track: int) -> Int64Array:
    """When they began, those inside others included: each is recorded."""
    events = trace.events
    begun: Int64Array = events.start_ns[events.is_category(Category.CPU_OP) & (events.track == track)]
    return begun


def _running_us(trace: Trace, own_us: float) -> float:
    """Less what the training thread waited for a CPU, which is known of the whole capture."""
    thread, steps = trace.info.pipeline and trace.info.pipeline.training_thread, find_steps(trace)
    if not thread or isinstance(steps, Unavailable):
        return own_us
    ran_us, delayed_us = thread.cpu_ns / len(steps) / 1000, thread.run_delay_ns / len(steps) / 1000
    return max(own_us - delayed_us, min(own_us, ran_us))


LAUNCHES_ARE_SLOWER: Final = (
    "torch's profiler slows launches to the device (on an H100 it made steps of 4 ms 1.4x as long); by how much here "
    "is not known: launch and host code may be too large, and a step without it is shorter. It is known "
    "where 8 steps before the window were timed and take about as long as one another: annotate.profile times them in "
    "a loop over prof.steps(loader), and with DataLoader workers"
)


def weight_sentence(weight: ProfilerWeight) -> str:
    """Without a full stop."""
    if weight.before:
        return (
            f"torch's profiler makes a step's own work {ratio(weight.ratio)} as long: {duration(weight.own_us)} "
            f"instead of {duration(weight.own_us - weight.added_us)} in {plural(weight.before, 'step')} before it was "
            "on (medians). Lines with many small operators look too hot"
        )
    who, more = "torch's profiler makes", ""
    if weight.names_spans:
        who = "recording makes"
        more = f", and {plural(round(weight.spans), 'span')}, about {duration(weight.span_us)} each"
    return (
        f"{who} a step's own work at least about {ratio(weight.ratio)} as long: {duration(weight.own_us)} instead of "
        f"{duration(weight.own_us - weight.added_us)} or less ({plural(round(weight.operators), 'operator')} per step, "
        f"about {duration(weight.operator_us)} each{more}; what recording slows besides is not known). Lines with many "
        "small operators look too hot"
    )
