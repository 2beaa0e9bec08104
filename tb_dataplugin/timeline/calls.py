"""What the threads that launch device work were doing: their outermost operators, and their runtime calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.host_activity import outermost_rows
from tb_dataplugin.analyses.launches import NONE, Rows
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.limits import MOST_LAUNCHERS
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.trace import Trace

OPERATOR_TOKEN: Final = "operator"
RUNTIME_TOKEN: Final = "runtime"

_MARKER: Final = re.compile(r"(ProfilerStep|enumerate\(\w+\)|Optimizer\.\w+)#.*", re.DOTALL)
"""What torch marks; up to 1.10 it filed markers under operators."""


@dataclass(frozen=True, slots=True)
class ThreadCalls:
    """Rows of the trace's events, by thread. The operators do not overlap; a runtime call may lie inside another."""

    track: int
    title: str
    operators: Rows
    runtime: Rows


def call_lane_id(track: int) -> str:
    return f"calls:{track}"


def calls_by_thread(results: Results) -> Iterator[ThreadCalls]:
    """Of the training thread, and of every other thread that launched what ended a gap (autograd has its own)."""
    trace, events = results.trace, results.trace.events
    operators, runtime = operators_of(trace), runtime_calls_of(trace)
    for track in _tracks(results):
        mine, calls = operators[events.track[operators] == track], runtime[events.track[runtime] == track]
        if len(mine) or len(calls):
            yield ThreadCalls(track, _title(trace, track), outermost_rows(trace, mine), calls)


def runtime_calls_of(trace: Trace) -> Rows:
    return np.flatnonzero(trace.events.category == Category.RUNTIME)


def operators_of(trace: Trace) -> Rows:
    """Of all threads, also those inside others; without markers."""
    rows = np.flatnonzero(trace.events.category == Category.CPU_OP)
    names, which = np.unique(trace.events.name[rows], return_inverse=True)
    is_marker = np.array([_MARKER.fullmatch(trace.names[name]) is not None for name in names.tolist()], dtype=np.bool_)
    return rows[~is_marker[which]]


def call_lane_ids(results: Results) -> dict[int, str]:
    """Row of the trace -> id of the lane that shows its calls."""
    return {track: call_lane_id(track) for track in _tracks(results)}


def _tracks(results: Results) -> list[int]:
    """The training thread first."""
    trace, events = results.trace, results.trace.events
    launches = [device.gap_ends.launch for device in results.attribution.devices]
    rows = np.concatenate([np.zeros(0, dtype=np.intp), *launches])
    others = np.unique(events.track[rows[rows != NONE]]).tolist()[:MOST_LAUNCHERS]
    training = trace.training_track
    return [*([] if training is None else [training]), *(track for track in others if track != training)]


def _title(trace: Trace, track: int) -> str:
    if track == trace.training_track:
        return "Operators, calls"
    thread = trace.tracks[track]
    return f"Calls, {thread.thread_name or f'thread {thread.tid}'}"
