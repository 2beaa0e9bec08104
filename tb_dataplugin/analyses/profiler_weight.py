"""How much of a step's own work is recording: by the same work in the steps before the window (without DataLoader
workers whole steps, as these make their samples; with them what the loop over `annotate.profile`'s ``prof.steps``
times), which is a measurement; else the operators of the training thread times what recording one of them adds, by
what `annotate` measures of a small one when a window opens, and its spans likewise where it makes the samples itself.
That is an estimate with an interval, as operators differ in what recording adds to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

Floats = npt.NDArray[np.float64]

NOTICED: Final = 1.1
"""From here on it is said: shares of lines may be some points too high."""
HEAVY: Final = 1.3
"""From here on nothing of the capture is called measured."""
FEWEST_TIMED: Final = 8
"""Steps before the window and in it, to compare their durations."""
MOST_SPREAD: Final = 0.3
"""Of the median: how far the middle half of them may be apart."""
ERROR_OF_MEDIAN: Final = 0.93
"""Of the middle half's width, over the root of the number: standard error of a median of a normal distribution."""
MOST_TIMED: Final = 0.95
"""Of the recorded time: an interval's end that steps before the window allow, as some of it is the step's own."""
CROWDED: Final = 0.1
"""Of the time that the training thread ran in the window, spent waiting for a CPU: from here on whole steps before it
may have waited as well, by more or less, and are no measure."""
LIKELY_TIMES: Final = 2.0
LEAST_TIMES: Final = 1.2
MOST_TIMES: Final = 3.1
"""What recording an operator adds, over what it adds to the small one that is called again and again: 1.2 to 1.7 for
assignments of elements, 2.0 to 3.1 in steps of six models (docs/lines.md)."""
NAMED: Final = 0.1
"""Part of what recording adds from which spans are named for it."""
MOST: Final = 0.8
"""Of the time that recording is part of: where it is likely to be more by the estimate, nothing is taken off. The probe
was made in a busy moment, or is no measure of these operators."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of recording, in one unit: what is likely, in an interval."""

    least: float
    likely: float
    most: float

    def times(self, number: float) -> Cost:
        return Cost(number * self.least, number * self.likely, number * self.most)

    def plus(self, number: float) -> Cost:
        return Cost(self.least + number, self.likely + number, self.most + number)

    def clipped(self, low: float, high: float) -> Cost:
        least, likely, most = (min(high, max(low, each)) for each in (self.least, self.likely, self.most))
        return Cost(least, likely, most)


NO_COST: Final = Cost(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ProfilerWeight:
    """Per step, without data wait where there are DataLoader workers: `own_us` as recorded, `added_us` of it by
    recording.

    `before`: steps that were timed before the window; the durations are medians then. 0: `added_us` is an estimate for
    so many `operators` (what one adds: `operator_us`) and `spans`, and the durations are means without waiting for a
    CPU. `is_unknown`: the estimate is more than there can be; nothing is taken off.
    """

    own_us: float
    added_us: Cost
    operators: float
    operator_us: Cost = NO_COST
    before: int = 0
    spans: float = 0.0
    span_us: float = 0.0
    is_whole_step: bool = False
    is_unknown: bool = False

    @property
    def ratio(self) -> float:
        """How many times as long recording makes it; 1 where that is unknown."""
        return self._ratio(self.added_us.likely)

    @property
    def least_ratio(self) -> float:
        return self._ratio(self.added_us.least)

    @property
    def most_ratio(self) -> float:
        return self._ratio(min(self.added_us.most, MOST * self.own_us))

    @property
    def is_noticed(self) -> bool:
        return self.is_unknown or self.ratio >= NOTICED

    @property
    def is_heavy(self) -> bool:
        return self.is_unknown or self.ratio >= HEAVY

    @property
    def most_profiler_us(self) -> float:
        """Of `added_us`, without spans, at most. All there is where nothing is known."""
        if self.is_unknown:
            return self.own_us
        return min(self.added_us.most, self.own_us) * (1 - self._spans_part)

    @property
    def names_spans(self) -> bool:
        return self._spans_part >= NAMED

    def _ratio(self, added_us: float) -> float:
        return 1.0 if self.is_unknown else self.own_us / (self.own_us - added_us)

    @property
    def _spans_part(self) -> float:
        spans_us, operators_us = self.spans * self.span_us, self.operators * self.operator_us.likely
        whole_us = self.added_us.likely if self.before else spans_us + operators_us
        return min(1.0, spans_us / whole_us) if spans_us and whole_us else 0.0


def find_profiler_weight(
    trace: Trace, window: Window, steps: StepTable | None, loader: LoaderWait | None
) -> ProfilerWeight | None:
    """None where the cost of an operator or the steps are not known, and in a replay, which has no step."""
    pipeline = trace.info.pipeline
    if pipeline is None or pipeline.mode != "train" or steps is None:
        return None
    counted = _counted(trace, window, steps, loader)
    if makes_samples(trace):
        return _of_whole_steps(trace, steps, counted) or counted
    timed = None if loader is None else _timed(np.array(pipeline.own_us_before), _own_us(steps))
    return timed or counted


def _of_whole_steps(trace: Trace, steps: StepTable, counted: ProfilerWeight | None) -> ProfilerWeight | None:
    """None where they say no more than the operators do (`counted`), or do not fit to them: steps that were slower for
    some other reason, as the first of a program may be, hide what recording adds.
    """
    pipeline = trace.info.pipeline
    if pipeline is None or _is_crowded(trace):
        return None
    timed = _timed(np.array(pipeline.steps_before_us), np.array([row.duration_ns / 1000 for row in steps.rows]))
    if timed is None:
        return None
    if counted is not None:
        added, by_count = timed.added_us, counted.operator_us.times(counted.operators)
        if added.most < by_count.least or added.most - added.least > by_count.most - by_count.least:
            return None
        timed = replace(timed, operators=counted.operators, spans=counted.spans, span_us=counted.span_us)
    return replace(timed, is_whole_step=True)


def makes_samples(trace: Trace) -> bool:
    """The training thread does, so that stages are part of its step."""
    pipeline = trace.info.pipeline
    return pipeline is not None and not any(each.num_workers for each in pipeline.loaders)


def _own_us(steps: StepTable) -> Floats:
    """Of each step, without data wait."""
    return np.array([(row.duration_ns - (row.data_wait_ns or 0)) / 1000 for row in steps.rows])


def _is_crowded(trace: Trace) -> bool:
    """Or not known: whether the training thread had a CPU whenever it wanted one."""
    thread = trace.info.pipeline and trace.info.pipeline.training_thread
    return not thread or thread.run_delay_ns > CROWDED * thread.cpu_ns


def _timed(before: Floats, inside: Floats) -> ProfilerWeight | None:
    """None where there are few steps, or they differ too much among themselves for two medians to be compared."""
    errors = []
    for durations in (before, inside):
        low, middle, high = np.percentile(durations, (25, 50, 75)) if len(durations) else (0.0, 0.0, 0.0)
        if len(durations) < FEWEST_TIMED or high - low > MOST_SPREAD * middle:
            return None
        errors.append(ERROR_OF_MEDIAN * (high - low) / len(durations) ** 0.5)
    own_us, before_us = float(np.median(inside)), float(np.median(before))
    added_us, error = own_us - before_us, 2 * float(np.hypot(*errors))
    added = Cost(added_us - error, added_us, added_us + error).clipped(0.0, MOST_TIMED * own_us)
    return ProfilerWeight(own_us, replace(added, likely=max(0.0, added_us)), 0.0, before=len(before))


def _counted(trace: Trace, window: Window, steps: StepTable, loader: LoaderWait | None) -> ProfilerWeight | None:
    """By operators.

    Without DataLoader workers samples are made in the wait, by operators as well, and in spans: that belongs to the
    step then.
    """
    each_us = probed_cost_us(trace)
    if each_us is None or trace.training_track is None:
        return None
    makes = makes_samples(trace)
    waits = EMPTY if loader is None or makes else loader.waits
    start = recorded_operators(trace, trace.training_track)
    start = start[(start >= window.start_ns) & (start < window.end_ns)]
    count = len(steps.rows)
    operators = int((~waits.contains(start)).sum()) / count
    own_us = _running_us(trace, (window.duration_ns - waits.clip(window).total_ns) / count / 1000)
    spans, span_us = _spans(trace) if makes else (0.0, 0.0)
    added = each_us.times(operators).plus(spans * span_us)
    if added.likely <= 0:
        return None
    is_unknown = added.likely > MOST * own_us
    added = NO_COST if is_unknown else added
    return ProfilerWeight(own_us, added, operators, each_us, 0, spans, span_us, makes, is_unknown)


def _spans(trace: Trace) -> tuple[float, float]:
    """Of the training thread: how many per step of the capture, and what one adds."""
    pipeline, steps = trace.info.pipeline, find_steps(trace)
    if pipeline is None or not pipeline.marker_us or not pipeline.marker_count or isinstance(steps, Unavailable):
        return 0.0, 0.0
    return pipeline.marker_count / len(steps), pipeline.marker_us


def probed_cost_us(trace: Trace) -> Cost | None:
    """That recording one operator of a whole loop adds, by the probe; None where nothing was measured."""
    probed_us = trace.info.pipeline.operator_us if trace.info.pipeline else None
    if probed_us is None or probed_us < 0:
        return None
    return Cost(LEAST_TIMES, LIKELY_TIMES, MOST_TIMES).times(probed_us)


def cost_of_operators_us(operators: float, weight: ProfilerWeight | None, probed: Cost | None) -> Cost | None:
    """That so many operators per step of a stage in the training thread add per step; None where nothing was measured.

    Where whole steps were timed, all operators together add what these say, and those of the stage may be up to
    `MOST_TIMES / LEAST_TIMES` times as costly as the rest, or as cheap.
    """
    if weight is None or not weight.before or not weight.is_whole_step or not weight.operators:
        return None if probed is None else probed.times(operators)
    rest, differ = max(0.0, weight.operators - operators), MOST_TIMES / LEAST_TIMES
    of_operators = weight.added_us.plus(-weight.spans * weight.span_us).clipped(0.0, weight.own_us)
    parts = [operators / (operators + part * rest) if operators else 0.0 for part in (differ, 1.0, 1 / differ)]
    least, likely, most = parts
    return Cost(of_operators.least * least, of_operators.likely * likely, of_operators.most * most)


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


HOT: Final = "Lines with many small operators look too hot"


def weight_sentence(weight: ProfilerWeight) -> str:
    """Without a full stop."""
    is_timed = weight.is_whole_step and weight.before
    what = "a step" if is_timed else "a step's own work"
    who = "recording makes" if weight.names_spans or is_timed else "torch's profiler makes"
    if weight.is_unknown:
        return (
            f"{who.replace('makes', 'may make')} a step's own work much longer, by how much is not known: by what one "
            f"was measured to cost, {_recorded(weight)} may be nearly all of its {duration(weight.own_us)}. Times and "
            f"gains are as recorded. {HOT}"
        )
    own, likely = duration(weight.own_us), duration(weight.own_us - weight.added_us.likely)
    if weight.before:
        return (
            f"{who} {what} {ratio(weight.ratio)} as long: {own} instead of {likely} "
            f"in {plural(weight.before, 'step')} before it was on (medians). {HOT}"
        )
    is_open = weight.added_us.most > MOST * weight.own_us
    ends = f"{ratio(weight.least_ratio)} {'or more' if is_open else f'to {ratio(weight.most_ratio)}'}"
    return (
        f"{who} a step's own work about {ratio(weight.ratio)} as long ({ends}, estimated): {own} instead of about "
        f"{likely} ({_recorded(weight)}). {HOT}"
    )


def _recorded(weight: ProfilerWeight) -> str:
    """What was counted, and what one may cost."""
    each_us, operators = weight.operator_us, plural(round(weight.operators), "operator")
    more = f", and {plural(round(weight.spans), 'span')}, about {duration(weight.span_us)} each"
    spans = more if weight.names_spans else ""
    return f"{operators} per step, {duration(each_us.least)} to {duration(each_us.most)} each{spans}"
