"""The window that all figures refer to, and the steps in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import NO_WHOLE_STEP, OWN_THREAD
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.options import StepRange

LEAST_STEPS: Final = 3
"""Of fewer it is not told which are alike."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps by start time; `number` is N of ``ProfilerStep#N``, or counts from 0 where the recorder saw them end: it
    says so where the profiler was told of none, though a schedule's first step begins by itself.
    """

    number: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array

    def __len__(self) -> int:
        return len(self.number)

    @property
    def duration_ns(self) -> Int64Array:
        return self.end_ns - self.start_ns


def _boundaries(trace: Trace) -> Int64Array | None:
    """Of the steps that no profiler marked, as the recorder saw them end."""
    return trace.info.pipeline.step_boundaries_ns if trace.info.pipeline else None


def find_window(trace: Trace) -> Window | Unavailable:
    """First step start to last step end, by the recorder or by the profiler's spans; without steps, first to last timed
    event (the profiler's own span aside).
    """
    steps = find_steps(trace)
    if isinstance(steps, Steps):
        window = Window(int(steps.start_ns.min()), int(steps.end_ns.max()))
        if window.duration_ns or _boundaries(trace) is not None:  # their durations may be damaged
            return window
    if trace.extent is None or not trace.extent.duration_ns:
        message = "The trace has no timed events, so there is no window to measure: was a step run while it recorded?"
        return Unavailable("window", "no_window", message)
    return trace.extent


def has_numbers(trace: Trace) -> bool:
    """Whether the steps have the numbers that the profiler gave them, which are the same on all ranks."""
    return bool(len(trace.steps.row)) and _boundaries(trace) is None


def find_steps(trace: Trace) -> Steps | Unavailable:
    """Without a last one that found the loop over: it got no batch and ran no operator, and those before it did. Of a
    file that is cut off those before its last wait: behind it each step would have none.
    """
    steps = _recorded_steps(trace)
    if isinstance(steps, Unavailable):
        return steps
    if trace.is_cut:
        return _covered(trace, steps)
    if not _ends_loop(trace, steps):
        return steps
    return Steps(steps.number[:-1], steps.start_ns[:-1], steps.end_ns[:-1])


def _covered(trace: Trace, steps: Steps) -> Steps:
    spans, events = trace.stage_spans, trace.events
    waits = spans.row[spans.is_kind("wait") & (events.track[spans.row] == trace.training_track)]
    if not len(waits) or trace.info.pipeline is None:
        return steps
    last = events.start_ns[waits].max()
    rows = steps.end_ns <= last
    if not rows.any() or steps.start_ns.max() <= last:
        return steps
    return Steps(steps.number[rows], steps.start_ns[rows], steps.end_ns[rows])


def _ends_loop(trace: Trace, steps: Steps) -> bool:
    """Whether the last step only asked for a batch when there was none left."""
    pipeline, events, track = trace.info.pipeline, trace.events, trace.training_track
    if pipeline is None or track is None or len(steps) < LEAST_STEPS or (np.diff(steps.start_ns) <= 0).any():
        return False
    table = pipeline.batches
    if table is None or not len(table):
        return False
    got = np.histogram(table.consumed_ns, np.append(steps.start_ns, steps.end_ns[-1]))[0]
    if got[-1] or not got[:-1].all():
        return False
    spans = trace.stage_spans
    waits = spans.row[spans.is_kind("wait") & (events.track[spans.row] == track)]
    asked = (events.start_ns[waits] >= steps.start_ns[-1]) & (events.end_ns[waits] <= steps.end_ns[-1])
    if not asked.any():
        return False
    ours = np.array([name.startswith(OWN_THREAD) for name in trace.names], dtype=np.bool_)
    ran = events.start_ns[events.is_category(Category.CPU_OP) & (events.track == track) & ~ours[events.name]]
    waiting = Intervals.union(events.start_ns[waits], events.end_ns[waits])
    own = ran[~waiting.contains(ran)]
    return bool((own < steps.start_ns[-1]).any()) and not (own >= steps.start_ns[-1]).any()


def lacks_whole_step(trace: Trace) -> bool:
    """Whether the recorder opened its window in a loop, and no step of that was over when the recording ended: what it
    shows is the loop's end, or what the program did after it.
    """
    pipeline = trace.info.pipeline
    if pipeline is None or trace.info.mode != "train" or len(trace.steps.row) or _boundaries(trace) is not None:
        return False
    return any(note.startswith(NO_WHOLE_STEP) for note in pipeline.notes)


def _recorded_steps(trace: Trace) -> Steps | Unavailable:
    rows = trace.steps.row
    boundaries = _boundaries(trace)
    if boundaries is not None:
        return Steps(np.arange(len(boundaries) - 1), boundaries[:-1], boundaries[1:])
    if not len(rows):
        if lacks_whole_step(trace):
            message = "No whole step was recorded: figures per step are unknown and the window is the whole trace"
            return Unavailable("steps", "no_whole_step", message)
        cure = "give the profiler a schedule, and call prof.step() after each iteration"
        message = (
            "The trace has no ProfilerStep spans: figures per step are unknown and the window is the whole trace; "
            f"{'the file is cut off, and they may be in the part that is missing' if trace.is_cut else cure}"
        )
        return Unavailable("steps", "no_steps", message)
    return Steps(trace.steps.number, trace.events.start_ns[rows], trace.events.end_ns[rows])


@dataclass(frozen=True, slots=True)
class StepSelection:
    """Which of a trace's steps the numbers are about. `recorded`, `whole`: ends and window of all steps."""

    chosen: StepRange
    count: int
    recorded: StepRange
    recorded_count: int
    whole: Window


def select_steps(trace: Trace, chosen: StepRange) -> tuple[StepSelection, Window] | Unavailable:
    """The selection, and the window of its steps alone; Unavailable where the trace lacks an end of it."""
    steps, whole = find_steps(trace), find_window(trace)
    if isinstance(whole, Unavailable):
        return whole
    if isinstance(steps, Unavailable):
        return Unavailable("steps", "no_steps", "it has no steps to choose from; call prof.step() after each iteration")
    recorded = StepRange(int(steps.number.min()), int(steps.number.max()))
    rows = _rows_of(steps, chosen)
    if not rows.any() or chosen.first < recorded.first or chosen.last > recorded.last:
        return Unavailable("steps", "no_such_steps", f"it has steps {recorded}; choose among those")
    window = Window(int(steps.start_ns[rows].min()), int(steps.end_ns[rows].max()))
    if not window.duration_ns:
        return Unavailable("steps", "no_such_steps", "these steps take no time; choose others")
    return StepSelection(chosen, int(rows.sum()), recorded, len(steps), whole), window


def only(steps: Steps, chosen: StepRange) -> Steps:
    rows = _rows_of(steps, chosen)
    return Steps(steps.number[rows], steps.start_ns[rows], steps.end_ns[rows])


def _rows_of(steps: Steps, chosen: StepRange) -> npt.NDArray[np.bool_]:
    return (steps.number >= chosen.first) & (steps.number <= chosen.last)
