"""Samples of stacks, joined to the spans: in which stage each was, how much time it stands for, who waited for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wrapper_rows import path_of
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window, int64
from tb_dataplugin.model.line_samples import Frame, LineSamples, SampledStacks, Stacks
from tb_dataplugin.model.trace import Trace

Floats = npt.NDArray[np.float64]
_LOADS = re.compile(r"/torch/utils/data/")
OUTSIDE = -1
"""Node of a sample that lies in no stage."""


class ForOthers(NamedTuple):
    """What is for another DataLoader than the training loop's: spans of the stage tree (empty: none), and times of the
    training thread. `no_step`: these times, and those between two epochs.
    """

    spans: npt.NDArray[np.bool_]
    times: Intervals
    no_step: Intervals = EMPTY


NOT_FOR_OTHERS = ForOthers(np.zeros(0, dtype=np.bool_), EMPTY)


@dataclass(frozen=True, slots=True)
class Hits:
    """Samples in the window whose stack was read, of all threads: equally long columns.

    `track`: the row of the trace that has the thread's spans. `node`: of the stage tree, the deepest stage that the
    thread was in, or `OUTSIDE`. `weight_ns`: the time that it stands for. `waited_ns`: its part of the data wait that
    its span caused. `idle_ns`: `weight_ns` where a device was idle, else 0. `for_others`: its span is part of building
    another DataLoader's batches, or the training thread works with these.
    """

    stack: Int64Array
    track: Int64Array
    node: Int64Array
    time_ns: Int64Array
    state: Int64Array
    is_training: npt.NDArray[np.bool_]
    weight_ns: Floats
    waited_ns: Floats
    idle_ns: Floats
    for_others: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.stack)

    def where(self, rows: npt.NDArray[np.bool_]) -> Hits:
        columns = (getattr(self, name)[rows] for name in Hits.__slots__)
        return Hits(*columns)


@dataclass(frozen=True, slots=True)
class SampledTime:
    """What the spans say of the time that was sampled: self time by node of the stage tree, of the sampled threads."""

    self_ns: Int64Array


def find_hits(
    trace: Trace,
    samples: LineSamples,
    tree: StageTree,
    attribution: Attribution,
    idle: Intervals,
    window: Window,
    others: ForOthers,
) -> tuple[Hits, SampledTime]:
    """`idle`: when a device was idle."""
    waited = _waited_per_ns(tree, attribution)
    for_others = others.spans if len(others.spans) else np.zeros(len(tree.node), dtype=np.bool_)
    parts, spans = [], np.zeros(len(tree.paths), dtype=np.int64)
    for thread in samples:
        track = _track_of(trace, thread)
        if track is None or len(thread.stack) < 2:
            continue
        hits = _hits_of(thread, tree, track, waited, idle, window, not samples.is_outside, for_others)
        if thread.is_training:
            hits = _without_strays(hits, trace, tree, samples.stacks)
            hits = replace(hits, for_others=hits.for_others | others.times.contains(hits.time_ns))
        parts.append(_in_wrappers(hits, tree, attribution) if thread.is_training else hits)
        span = Window(max(window.start_ns, int(thread.time_ns[0])), min(window.end_ns, int(thread.time_ns[-1])))
        np.add.at(spans, *_self_time(tree, track, span))
        for node, time in _wrappers(tree, attribution) if thread.is_training else ():
            spans[node] += time.intersect(Intervals(int64([span.start_ns]), int64([span.end_ns]))).total_ns
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in Hits.__slots__] if parts else None
    return (Hits(*columns) if columns else _NO_HITS), SampledTime(spans)


def _without_strays(hits: Hits, trace: Trace, tree: StageTree, stacks: Stacks) -> Hits:
    """Samples in a stage inside a recorded loader's ``next()`` whose stack is that of the loop are in no stage: the
    stack was read a little later, when the thread had left it. A stack is the loop's where neither torch's loader nor a
    hook of the recorder is on it, and its innermost function of the user's runs outside of all stages most of the time.
    """
    names = {loader.name for loader in trace.info.pipeline.loaders} if trace.info.pipeline else set()
    in_loader = [
        len(path) > 1 and path[0].kind == "wait" and path[0].label.removesuffix(FIRST_BATCH) in names - {""}
        for path in tree.paths
    ]
    doubtful = np.array([*in_loader, False], dtype=np.bool_)[hits.node]
    if not doubtful.any():
        return hits
    own = {stack: _function(stacks.inwards(stack)) for stack in np.unique(hits.stack).tolist()}
    balance: dict[tuple[str, str], float] = {}
    for stack, weight, inside, node in zip(
        hits.stack.tolist(), hits.weight_ns.tolist(), doubtful.tolist(), hits.node.tolist(), strict=True
    ):
        key = own[stack]
        if key is not None and (inside or node == OUTSIDE):
            balance[key] = balance.get(key, 0.0) + (-weight if inside else weight)
    loops = [stack for stack, key in own.items() if key is not None and balance.get(key, 0.0) > 0]
    stray = doubtful & np.isin(hits.stack, loops)
    return replace(hits, node=np.where(stray, OUTSIDE, hits.node), waited_ns=np.where(stray, 0.0, hits.waited_ns))


def _function(frames: list[Frame]) -> tuple[str, str] | None:
    """The innermost function of the user's, where neither torch's loader nor the recorder is on the stack."""
    if any(_LOADS.search(frame.file) or frame.origin == "recorder" for frame in frames):
        return None
    return next(((frame.file, frame.function) for frame in reversed(frames) if frame.origin == "user"), None)


def _wrappers(tree: StageTree, attribution: Attribution) -> Iterator[tuple[int, Intervals]]:
    """Nodes of iterators around the loader without spans, and when the training thread was in their own code."""
    for label, time in attribution.wrapped.items():
        if path_of(label) in tree.paths:
            yield len(tree.paths) - 1 - tree.paths[::-1].index(path_of(label)), time


def _in_wrappers(hits: Hits, tree: StageTree, attribution: Attribution) -> Hits:
    """Their code is in a wait, and all of it is data wait."""
    node, waited = hits.node.copy(), hits.waited_ns.copy()
    for number, time in _wrappers(tree, attribution):
        here = time.contains(hits.time_ns)
        node[here], waited[here] = number, hits.weight_ns[here]
    return replace(hits, node=node, waited_ns=waited)


def _track_of(trace: Trace, thread: SampledStacks) -> int | None:
    """The row of the trace that has the spans of a thread."""
    if thread.is_training:
        return trace.training_track
    names = (str(thread.pid), str(thread.tid))
    return next((number for number, track in enumerate(trace.tracks) if (track.pid, track.tid) == names), None)


def _waited_per_ns(tree: StageTree, attribution: Attribution) -> Floats:
    """Per span, the data wait that it caused over its self time."""
    waited = attribution.wait_by_span_ns
    if waited is None:
        return np.zeros(len(tree.node))
    per: Floats = waited / np.maximum(tree.self_ns, 1)
    return per


def _hits_of(
    thread: SampledStacks,
    tree: StageTree,
    track: int,
    waited_per_ns: Floats,
    idle: Intervals,
    window: Window,
    by_elapsed: bool,
    for_others: npt.NDArray[np.bool_],
) -> Hits:
    pieces = tree.pieces_of_track(track)
    start, end, owner = tree.piece_start[pieces], tree.piece_end[pieces], tree.piece_span[pieces]
    rows = (thread.time_ns >= window.start_ns) & (thread.time_ns < window.end_ns) & (thread.stack >= 0)
    time, weight = thread.time_ns[rows], thread.weight_ns(by_elapsed)[rows].astype(np.float64)
    place = np.searchsorted(start, time, side="right") - 1
    inside = place >= 0
    inside[inside] &= time[inside] < end[place[inside]]
    span = np.where(inside, owner[np.maximum(place, 0)], -1) if len(owner) else np.full(len(time), -1)
    node, waited = np.append(tree.node, OUTSIDE), np.append(waited_per_ns, 0.0)  # of span -1 too
    apart = np.append(for_others, False)
    return Hits(
        stack=thread.stack[rows],
        track=np.full(len(time), track, dtype=np.int64),
        node=node[span],
        time_ns=time,
        state=thread.state[rows],
        is_training=np.full(len(time), thread.is_training),
        weight_ns=weight,
        waited_ns=weight * waited[span],
        idle_ns=weight * idle.contains(time),
        for_others=apart[span],
    )


def _self_time(tree: StageTree, track: int, part: Window) -> tuple[Int64Array, Int64Array]:
    """Nodes, and the time in each piece of them."""
    pieces = tree.pieces_of_track(track)
    length = np.minimum(tree.piece_end[pieces], part.end_ns) - np.maximum(tree.piece_start[pieces], part.start_ns)
    return tree.node[tree.piece_span[pieces]], np.maximum(length, 0)


_NO = np.zeros(0, dtype=np.int64)
_NO_TIME, _NOT = _NO.astype(float), _NO.astype(np.bool_)
_NO_HITS = Hits(_NO, _NO, _NO, _NO, _NO, _NOT, _NO_TIME, _NO_TIME, _NO_TIME, _NOT)
