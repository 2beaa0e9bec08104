"""Which lines of the code take the time: inside each stage, and in the training thread while a device idles.

Samples of stacks are joined to spans (`line_hits`): the deepest span of that thread at that moment has the sample, as
it has the time. Of each stack the line to change is the deepest one of the user's own code (`code_places`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import RECORDERS_OWN, THREAD_STATES, THREAD_WAITS_FOR_LOCK, Stage
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.code_places import (
    Home,
    Place,
    below_stage,
    calling_place,
    home_of,
    inside_stage,
    plain,
    python_part,
)
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.line_hits import NOT_FOR_OTHERS, OUTSIDE, ForOthers, Hits, find_hits
from tb_dataplugin.analyses.line_patterns import PatternTime, find_patterns
from tb_dataplugin.analyses.line_rows import LineRow, Mask, line_rows
from tb_dataplugin.analyses.line_trees import (
    FOR_OTHERS,
    MOST_IN_ORDER,
    MOST_IN_ORDER_OF_ALL,
    MOST_NODES,
    MOST_NODES_OF_ALL,
    LineTree,
    grow,
    grow_in_order,
    stage_frame,
)
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.lock_holders import LockHolder, find_lock_holders
from tb_dataplugin.analyses.share_check import ShareCheck, check_shares, in_stages, stages_ns
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.step_calls import hits_in_step
from tb_dataplugin.analyses.step_lines import FEWEST_OF_ONE, FEWEST_STEPS, StepLines, find_step_lines
from tb_dataplugin.analyses.steps import StepSelection, find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.line_samples import Frame, LineSamples, NativeFacts, Stacks
from tb_dataplugin.model.trace import Trace

LEAST_SAMPLES: Final = 100
"""In a stage, or a cause of idle time: with fewer, the share of a line has a 95% interval of more than 10 points to
either side."""

FEWEST_SAMPLES: Final = 20
"""The same where one line has nearly all of them."""

MOST_OF_IT: Final = 0.5
"""Part of the time that a line has at the lower end of its interval, from which few samples name it."""

MOST_ROWS: Final = 20

ALMOST_ALL: Final = 0.9
"""Part of a line's time in a single step, from which the line is a first call, or another event, and no habit."""

_FRAMES_UNUSED: Final = (
    "No stacks were sampled in this capture, and the Python frames in it, by torch's own with_stack, are not used for "
    "lines and flame graphs: capture with annotate.profile, lines=True as by default, or run it with tb-dataplugin run"
)

_BLOCKED: Final = THREAD_STATES.index("blocked")

TRAINING_CAUSES: Final = ("host", "launch", "sync", "h2d")
"""Causes of idle time in which the training thread's own lines are what takes the time."""


@dataclass(frozen=True, slots=True)
class PartLines:
    """The lines of a stage, or of a part of the training thread's time, the hottest first.

    `recorder_ns` is time in the recorder's own code, which is not in `time_ns`. Empty rows: too few samples for a
    guess; of fewer than `LEAST_SAMPLES` only a line is named that has most of the time for certain. `others`: lines
    beyond. `tree`: None where no line is named, unless somebody wants whole stacks.
    """

    samples: int
    time_ns: int
    recorder_ns: int
    rows: tuple[LineRow, ...]
    others: int
    tree: LineTree | None
    in_order: LineTree | None = None
    """The same in time order."""
    one_off: frozenset[Place] = frozenset()
    """Lines of the training thread almost all of whose time lies in one of several steps."""


@dataclass(frozen=True, slots=True)
class HotLines:
    """`stages`: by stage, wherever it is called, most time first. `training`: the training thread's, by cause of idle
    time of the first device, and "gil" for its waiting for Python's lock outside the data wait; without a device "host"
    is all of that. `step`: the same time by what it is spent on. `patterns`: what lines inside stages are about.
    `serving`: `stages` without what the training step calls for itself; `patterns` and `whole_stages` are without it.
    `whole_stages`: of the whole capture, those stages that have too few samples in the steps that somebody chose.

    `pipeline`: all stages on all threads, `training_thread`: all of it outside the data wait; None where no sample is.
    `interval_ns` is the mean time between two samples of a thread; `check` None: too few of `stage_samples`, those in
    stages.
    """

    stages: Mapping[Stage, PartLines]
    serving: Mapping[Stage, PartLines]
    whole_stages: Mapping[Stage, PartLines]
    training: Mapping[str, PartLines]
    check: ShareCheck | None
    step: StepLines | None
    patterns: tuple[PatternTime, ...]
    samples: int
    threads: int
    interval_ns: float
    is_outside: bool
    clock_error_ns: int
    cost_ns: int | None
    unread: int
    unseen: tuple[str, ...]
    hits: Hits
    stage_samples: int
    of_some_steps: bool
    """Somebody chose them; the capture has more."""
    stages_ns: int
    """Self time of stages in the window, by spans: of all threads, sampled or not."""
    native: NativeFacts | None = None
    pipeline: PartLines | None = None
    training_thread: PartLines | None = None
    feeder: PartLines | None = None
    """What other threads of the training process run outside all stages, where they take the batches."""
    lock_holders: Mapping[str, LockHolder] = field(default_factory=dict)
    """Of the training process, by name."""


def find_hot_lines(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    attribution: Attribution,
    others: ForOthers,
    whole_stacks: bool = False,
    selection: StepSelection | None = None,
) -> HotLines | Unavailable:
    """`whole_stacks`: trees have all of their nodes, and are there for any number of samples. `selection`: the steps of
    `window`, where somebody chose them.
    """
    pipeline = trace.info.pipeline
    samples = pipeline.lines if pipeline else None
    if samples is None:
        return _no_samples(trace)
    if samples.why_not:
        return Unavailable("lines", "lines_unknown", f"Lines of the code were not sampled: {samples.why_not}")
    idle = devices[0].gaps if devices else EMPTY
    hits, spans = find_hits(trace, samples, tree, attribution, idle, window, others)
    finder = _Finder(trace, samples.stacks, bool(devices), whole_stacks)
    stages = dict(sorted(finder.stages(hits, tree), key=lambda item: (-item[1].time_ns, item[0])))
    in_step = hits_in_step(hits, trace, tree, loader)
    serving = dict(finder.stages(hits.where(~in_step), tree)) if in_step.any() else stages
    whole_stages: dict[Stage, PartLines] = {}
    if selection is not None:
        named = {stage for stage, part in serving.items() if part.rows}
        of_all, _ = find_hits(trace, samples, tree, attribution, idle, selection.whole, others)
        of_all = of_all.where(~hits_in_step(of_all, trace, tree, loader))
        whole_stages = dict(finder.stages(of_all, tree, named))
    is_own = ~finder.in_recorder(hits)
    own = hits.where(is_own)
    return HotLines(
        stages=stages,
        serving=serving,
        whole_stages=whole_stages,
        training=dict(finder.training(hits, loader, attribution, window)),
        check=check_shares(hits, spans, tree),
        step=find_step_lines(trace, own, finder.frames, loader, others.no_step, has_device=bool(devices)),
        patterns=find_patterns(hits.where(is_own & ~in_step), tree, finder.frames, has_device=bool(devices)),
        samples=len(hits),
        threads=len(np.unique(hits.track)),
        interval_ns=samples.interval_ns,
        is_outside=samples.is_outside,
        clock_error_ns=samples.clock_error_ns,
        cost_ns=samples.cost_ns if selection is None else _cost(samples, hits),
        unread=samples.unread,
        unseen=samples.unseen,
        hits=hits,
        stage_samples=int(in_stages(hits, tree).sum()),
        of_some_steps=selection is not None,
        stages_ns=stages_ns(tree, window),
        native=samples.native,
        pipeline=finder.pipeline(hits, tree),
        training_thread=finder.training_thread(hits, loader, window),
        feeder=finder.feeder(hits, trace, frozenset(thread.pid for thread in samples if thread.is_training)),
        lock_holders=find_lock_holders(samples, finder.frames, window),
    )


def _no_samples(trace: Trace) -> Unavailable:
    if trace.info.has_frames:
        return Unavailable("lines", "frames_unused", _FRAMES_UNUSED)
    return Unavailable("lines", "not_recorded", "The trace has no samples of stacks, so lines are unknown")


def lines_at(
    trace: Trace, tree: StageTree, attribution: Attribution, window: Window
) -> Callable[[Intervals], PartLines] | None:
    """What finds the training thread's lines in some stretches of time; None where stacks were not sampled."""
    pipeline = trace.info.pipeline
    samples = pipeline.lines if pipeline else None
    if samples is None or samples.why_not:
        return None
    finder = _Finder(trace, samples.stacks, has_device=False)

    @cache
    def hits() -> Hits:
        found, _ = find_hits(trace, samples, tree, attribution, EMPTY, window, NOT_FOR_OTHERS)
        return found.where(found.is_training)

    return lambda times: finder.part(hits().where(times.contains(hits().time_ns)), whole_stack=True)


def lines_of(trace: Trace, lines: HotLines) -> Callable[[Mask], PartLines]:
    """What finds the lines of stages in some of their samples (`hits`)."""
    pipeline = trace.info.pipeline
    assert pipeline is not None and pipeline.lines is not None
    finder = _Finder(trace, pipeline.lines.stacks, has_device=False)
    return lambda rows: finder.part(lines.hits.where(rows), whole_stack=False)


class _Finder:
    def __init__(self, trace: Trace, stacks: Stacks, has_device: bool, whole_stacks: bool = False) -> None:
        self._threads = [_thread_name(trace, number) for number in range(len(trace.tracks))]
        steps = find_steps(trace)
        self._step_starts_ns = np.zeros(0, np.int64) if isinstance(steps, Unavailable) else steps.start_ns
        self._has_device, self._whole_stacks = has_device, whole_stacks
        self.frames: Callable[[int], list[Frame]] = cache(stacks.inwards)

    def is_recorder(self, stack: int) -> bool:
        """Whether the recorder's own code is what runs."""
        last = python_part(self.frames(stack))[-1]
        return last.origin == "recorder" and plain(last.function) in RECORDERS_OWN

    def in_recorder(self, hits: Hits) -> Mask:
        """Which samples are the recorder's own time."""
        return np.array([self.is_recorder(stack) for stack in hits.stack.tolist()], dtype=np.bool_)

    def stages(
        self, hits: Hits, tree: StageTree, without: AbstractSet[Stage] = frozenset()
    ) -> Iterator[tuple[Stage, PartLines]]:
        last = [path[-1] for path in tree.paths]
        for stage in dict.fromkeys(last):
            if stage in without:
                continue
            nodes = [number for number, each in enumerate(last) if each == stage]
            part = hits.where(np.isin(hits.node, nodes))
            if stage.kind != "wait" and len(part):
                yield stage, self.part(part, whole_stack=False)

    def training(
        self, hits: Hits, loader: LoaderWait | None, attribution: Attribution, window: Window
    ) -> Iterator[tuple[str, PartLines]]:
        """Of the training thread outside the data wait."""
        hits = hits.where(hits.is_training)
        outside = (loader.waits if loader else EMPTY).complement(window)
        causes: dict[str, Intervals] = {"host": outside}
        if attribution.devices:
            found = attribution.devices[0].causes
            causes = {name: found[name] for name in TRAINING_CAUSES if name in found}
        for name, times in causes.items():
            part = hits.where(times.contains(hits.time_ns))
            if len(part):
                yield name, self.part(part, whole_stack=True)
        waiting = hits.where(outside.contains(hits.time_ns) & (hits.state == THREAD_WAITS_FOR_LOCK))
        if len(waiting):
            yield "gil", self.part(waiting, whole_stack=True)

    def pipeline(self, hits: Hits, tree: StageTree) -> PartLines | None:
        """All stages, each with its functions under the stages that it lies in."""
        above = [tuple(stage_frame(stage) for stage in path if stage.kind != "wait") for path in tree.paths]
        is_stage = np.array([path[-1].kind != "wait" for path in tree.paths] + [False])  # the last: OUTSIDE
        part = hits.where(is_stage[hits.node])
        return self.part(part, whole_stack=False, above=above) if len(part) else None

    def training_thread(self, hits: Hits, loader: LoaderWait | None, window: Window) -> PartLines | None:
        outside = (loader.waits if loader else EMPTY).complement(window)
        part = hits.where(hits.is_training & outside.contains(hits.time_ns))
        return self.part(part, whole_stack=True) if len(part) else None

    def feeder(self, hits: Hits, trace: Trace, pids: frozenset[int]) -> PartLines | None:
        """What blocks it (a full queue) is no work of it. `pids`: of the training process."""
        theirs = [number for number, track in enumerate(trace.tracks) if track.pid in map(str, pids)]
        part = hits.where(
            ~hits.is_training & np.isin(hits.track, theirs) & (hits.node == OUTSIDE) & (hits.state < _BLOCKED)
        )
        return self.part(part, whole_stack=True) if len(part) else None

    def part(self, hits: Hits, *, whole_stack: bool, above: Sequence[tuple[Frame, ...]] | None = None) -> PartLines:
        """`above`: by node of the stage tree, what the tree of functions hangs from. What is for another DataLoader has
        that above all.
        """
        in_recorder = self.in_recorder(hits)
        recorder, hits = float(hits.weight_ns[in_recorder].sum()), hits.where(~in_recorder)
        total = float(hits.weight_ns.sum())
        are_few = len(hits) < FEWEST_SAMPLES
        none = PartLines(len(hits), round(total), round(recorder), (), 0, None)
        if not total or (are_few and not self._whole_stacks):
            return none
        nodes = hits.node if above is not None else np.zeros_like(hits.node)
        columns = np.stack((nodes, hits.stack, hits.for_others))
        (nodes, stacks, for_others), place = np.unique(columns, axis=1, return_inverse=True)
        place = place.ravel()
        whole = [self.frames(stack) for stack in stacks.tolist()]
        cut = whole if whole_stack else [inside_stage(frames) for frames in whole]
        hung = whole if whole_stack else [below_stage(frames) for frames in whole]
        if above is not None:
            hung = [[*above[node], *frames] for node, frames in zip(nodes.tolist(), hung, strict=True)]
        hung = [
            [FOR_OTHERS, *frames] if other else frames for other, frames in zip(for_others.tolist(), hung, strict=True)
        ]
        homes = [home_of(frames) for frames in cut]
        rows = line_rows(
            hits,
            homes,
            place,
            has_device=self._has_device,
            called_from=[calling_place(frames, inside) for frames, inside in zip(whole, cut, strict=True)],
        )
        most = MOST_ROWS if len(hits) >= LEAST_SAMPLES else 1
        if are_few or (most == 1 and not (rows and rows[0].share - rows[0].error >= MOST_OF_IT)):
            if not self._whole_stacks:
                return none
            rows = ()
        return PartLines(
            len(hits),
            round(total),
            round(recorder),
            rows[:most],
            max(0, len(rows) - most),
            grow(hits, hung, place, self._most(MOST_NODES_OF_ALL if above else MOST_NODES)),
            grow_in_order(
                hits, hung, place, self._threads, self._most(MOST_IN_ORDER_OF_ALL if above else MOST_IN_ORDER)
            ),
            frozenset(self._one_off(hits, homes, place, rows) if whole_stack else ()),
        )

    def _most(self, nodes: int) -> int | None:
        return None if self._whole_stacks else nodes

    def _one_off(
        self, hits: Hits, homes: list[Home | None], place: npt.NDArray[np.intp], rows: tuple[LineRow, ...]
    ) -> Iterator[Place]:
        """Too few samples may lie in one step by chance."""
        if len(self._step_starts_ns) < FEWEST_STEPS:
            return
        step = np.searchsorted(self._step_starts_ns, hits.time_ns, side="right")
        for row in rows[:MOST_ROWS]:
            mine = np.array([home is not None and home.place == row.place for home in homes])[place]
            times = np.bincount(step[mine], hits.weight_ns[mine])
            if mine.sum() >= FEWEST_OF_ONE and times.max() >= ALMOST_ALL * times.sum():
                yield row.place


def _thread_name(trace: Trace, number: int) -> str:
    track = trace.tracks[number]
    return "training thread" if number == trace.training_track else f"{track.process_name or 'thread'} {track.pid}"


def _cost(samples: LineSamples, hits: Hits) -> int | None:
    """The part of it that these samples took: each takes about the same."""
    if samples.cost_ns is None:
        return None
    return round(samples.cost_ns * len(hits) / max(1, sum(len(thread.stack) for thread in samples)))
