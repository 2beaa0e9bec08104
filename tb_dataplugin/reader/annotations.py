"""What the names of host spans mean: steps, waits for the loader, stages.

torch's own wait span is ``enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__``, unchanged from torch 1.8 to
2.13; the class may be a user's own iterator; DataPipes write ``enumerate(DataPipe)#...``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import Stage, parse_span_name
from tb_dataplugin.limits import MOST_LABEL
from tb_dataplugin.model.beside_events import StageSpans, StepSpans
from tb_dataplugin.model.events import Category, EventTable
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.model.nesting import nest_by_track
from tb_dataplugin.model.trace import MixedLoop

_STEP = re.compile(r"ProfilerStep#([0-9]{1,9})")
_TORCH_WAIT = re.compile(r"enumerate\((\w+)\)#.*")
_SINGLE_PROCESS = re.compile(r"enumerate\(DataLoader\)#_SingleProcessDataLoaderIter\..*")
_OF_WORKERS = re.compile(r"enumerate\(DataLoader\)#_MultiProcessingDataLoaderIter\..*")
_OPERATOR = re.compile(r"[A-Za-z_]\w*::.*|.*Backward\d*|Optimizer\..*|detach|[a-z]+_")
"""Names of operators in traces that file user marks and operators under one category (torch 1.8 to 1.11)."""

HOST_MARKERS = (Category.USER_ANNOTATION, Category.CPU_OP)


@dataclass(frozen=True, slots=True)
class Meanings:
    steps: StepSpans
    stage_spans: StageSpans
    training_track: int | None
    single_process: bool
    mixed_loop: MixedLoop


def find_meanings(events: EventTable, names: tuple[str, ...]) -> Meanings:
    """Steps, waits and stages among `events`; device copies of user annotations are left out."""
    host = events.is_category(*HOST_MARKERS)
    steps = _find_steps(events, names, host)
    named = _find_named_stages(events, names, host)
    training = _training_track(events, steps, named)
    if training is not None:
        named = _with_foreign_markers(events, names, host, named, training)
    return Meanings(
        steps=_on_track(events, steps, training),
        stage_spans=_outermost_waits(events, named, training),
        training_track=training,
        single_process=(mixed := _mixed_loop(events, names, steps, training)) == "without"
        or (not mixed and any(_SINGLE_PROCESS.fullmatch(name) for name in names)),
        mixed_loop=mixed,
    )


def _mixed_loop(events: EventTable, names: tuple[str, ...], steps: StepSpans, training: int | None) -> MixedLoop:
    """A loop asks its loader in most of its steps, and an evaluation inside of some is none of these."""
    if training is None:
        return ""
    begin, end = events.start_ns[steps.row], events.end_ns[steps.row]
    asked = []
    for kind in (_SINGLE_PROCESS, _OF_WORKERS):
        is_one = np.array([kind.fullmatch(name) is not None for name in names], dtype=np.bool_)
        starts = np.sort(events.start_ns[is_one[events.name] & (events.track == training)])
        if not len(starts):
            return ""
        asked.append(int((np.searchsorted(starts, end) > np.searchsorted(starts, begin)).sum()))
    without, with_workers = (2 * steps_with > len(steps.row) for steps_with in asked)
    if without == with_workers:
        return "unclear"
    return "without" if without else "with"


def _name_lookup(names: tuple[str, ...], values: dict[str, int]) -> npt.NDArray[np.int64]:
    """Per name number, its value, or -1."""
    return np.array([values.get(name, -1) for name in names], dtype=np.int64)


def _find_steps(events: EventTable, names: tuple[str, ...], host: npt.NDArray[np.bool_]) -> StepSpans:
    matches = {name: _STEP.fullmatch(name) for name in names}
    lookup = _name_lookup(names, {name: int(match[1]) for name, match in matches.items() if match})
    number = lookup[events.name] if len(names) else np.zeros(0, dtype=np.int64)
    row = np.flatnonzero(host & (number >= 0))
    row = row[np.argsort(events.start_ns[row], kind="stable")]
    return StepSpans(row, number[row])


def _stage_of(name: str) -> Stage | None:
    match = _TORCH_WAIT.fullmatch(name)
    stage = Stage("wait", match[1]) if match else parse_span_name(name)
    return None if stage is None else Stage(stage.kind, stage.label[:MOST_LABEL])


def has_meaning(name: str) -> bool:
    """Whether a host span of this name is a step, a wait or a stage."""
    return _STEP.fullmatch(name) is not None or _stage_of(name) is not None


def _find_named_stages(events: EventTable, names: tuple[str, ...], host: npt.NDArray[np.bool_]) -> StageSpans:
    by_name = {name: stage for name in names if (stage := _stage_of(name))}
    return _collect(events, names, host, by_name)


def _collect(
    events: EventTable, names: tuple[str, ...], candidates: npt.NDArray[np.bool_], by_name: dict[str, Stage]
) -> StageSpans:
    stages = tuple(dict.fromkeys(by_name.values()))
    numbers = {stage: number for number, stage in enumerate(stages)}
    lookup = _name_lookup(names, {name: numbers[stage] for name, stage in by_name.items()})
    stage = lookup[events.name] if len(names) else np.zeros(0, dtype=np.int64)
    row = np.flatnonzero(candidates & (stage >= 0))
    return StageSpans(row, stage[row].astype(np.int32), stages)


def _training_track(events: EventTable, steps: StepSpans, named: StageSpans) -> int | None:
    """The thread with the most steps; without steps the thread with the most waits; None when there are neither."""
    for rows in (steps.row, named.row[named.is_kind("wait")]):
        if len(rows):
            return int(np.bincount(events.track[rows]).argmax())
    return None


def _on_track(events: EventTable, steps: StepSpans, track: int | None) -> StepSpans:
    here = events.track[steps.row] == (-1 if track is None else track)
    return StepSpans(steps.row[here], steps.number[here])


def _with_foreign_markers(
    events: EventTable, names: tuple[str, ...], host: npt.NDArray[np.bool_], named: StageSpans, training: int
) -> StageSpans:
    """Adds markers of other tools as `user` stages: those that the training thread opened while it waited."""
    wait_rows = named.row[named.is_kind("wait") & (events.track[named.row] == training)]
    if not len(wait_rows):
        return named
    waits = Intervals.union(events.start_ns[wait_rows], events.end_ns[wait_rows])
    candidates = host & (events.track == training) & waits.contains(events.start_ns)
    candidates[named.row] = False
    separate = bool((events.category == Category.USER_ANNOTATION).any())
    if separate:
        candidates &= events.is_category(Category.USER_ANNOTATION)
    used = {names[number] for number in np.unique(events.name[candidates]).tolist()}
    foreign = {name: Stage("user", name[:MOST_LABEL]) for name in used if _is_marker(name, separate)}
    extra = _collect(events, names, candidates, foreign)
    return StageSpans(
        np.concatenate((named.row, extra.row)),
        np.concatenate((named.stage, extra.stage + len(named.stages))).astype(np.int32),
        named.stages + extra.stages,
    )


def _is_marker(name: str, separate: bool) -> bool:
    return not _STEP.fullmatch(name) and (separate or not _OPERATOR.fullmatch(name))


def _outermost_waits(events: EventTable, spans: StageSpans, training: int | None) -> StageSpans:
    """Without waits inside waits, of which only the time is kept: torch's own span stands inside the marker that
    `annotate` put around `next()`, at once or inside of whatever the user's iterator does around the loader.
    """
    wait = spans.is_kind("wait")
    keep = np.ones(len(spans.row), dtype=np.bool_)
    rows = spans.row[wait]
    keep[wait] = nest_by_track(events.start_ns[rows], events.end_ns[rows], events.track[rows]).depth == 0
    inner = spans.row[~keep & (events.track[spans.row] == (-1 if training is None else training))]
    inner_waits = Intervals.union(events.start_ns[inner], events.end_ns[inner])
    return StageSpans(spans.row[keep], spans.stage[keep], spans.stages, inner_waits)
