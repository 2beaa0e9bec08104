"""Which lines of the code take the time: inside each stage, and in the training thread while a device idles.

Samples of stacks are joined to spans (`line_hits`): the deepest span of that thread at that moment has the sample, as
it has the time. Of each stack the line to change is the deepest one of the user's own code (`code_places`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import RECORDERS_OWN, THREAD_WAITS_FOR_LOCK, Stage
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.code_places import Home, Place, below_stage, home_of, inside_stage, plain
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.line_hits import OUTSIDE, Hits, SampledTime, find_hits
from tb_dataplugin.analyses.line_trees import MOST_NODES, MOST_NODES_OF_ALL, LineTree, grow, stage_frame
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.line_samples import Frame, LineSamples, Stacks
from tb_dataplugin.model.trace import Trace

LEAST_SAMPLES: Final = 100
"""In a stage, or a cause of idle time: with fewer, the share of a line has a 95% interval of more than 10 points to
either side."""

LEAST_TO_CHECK: Final = 500
"""Samples in stages: with fewer, shares of stages differ by more than 3 points for no reason."""

MOST_OFF: Final = 0.03
"""Between the share of a stage by samples and by spans."""

MOST_ROWS: Final = 20
_95: Final = 1.96

TRAINING_CAUSES: Final = ("host", "launch", "sync", "h2d")
"""Causes of idle time in which the training thread's own lines are what takes the time."""


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line. Shares are of the samples' time in the part; `error` is half of the 95% interval of `share`.

    `waited_share`: of the data wait that the stage caused; `idle_share`: of its time while a device was idle; None
    where there is none. `calls`: what the line mostly calls, and `calls_share` that part of the line's time.
    """

    place: Place
    is_user: bool
    samples: int
    time_ns: int
    share: float
    error: float
    waited_share: float | None
    idle_share: float | None
    calls: str
    calls_share: float


@dataclass(frozen=True, slots=True)
class PartLines:
    """The lines of a stage, or of a part of the training thread's time, the hottest first.

    `recorder_ns` is time in the recorder's own code, which is not in `time_ns`. Empty rows: there are fewer than
    `LEAST_SAMPLES` samples, too few for a guess. `others`: lines beyond those.
    """

    samples: int
    time_ns: int
    recorder_ns: int
    rows: tuple[LineRow, ...]
    others: int
    tree: LineTree | None


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """The shares of stages by samples against those by spans, on the same threads and times.

    `stage` is the one that differs most, by `difference` (a fraction). `checked` counts stages.
    """

    stage: str
    difference: float
    samples: int
    checked: int

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= MOST_OFF


@dataclass(frozen=True, slots=True)
class HotLines:
    """`stages`: by stage, wherever it is called, most time first. `training`: the training thread's, by cause of idle
    time of the first device, and "gil" for its waiting for Python's lock outside the data wait; without a device "host"
    is all of that.

    `pipeline`: all stages on all threads, `training_thread`: all of it outside the data wait; None where no sample is.
    `interval_ns` is the mean time between two samples of a thread; `check` None: too few samples.
    """

    stages: Mapping[Stage, PartLines]
    training: Mapping[str, PartLines]
    check: ShareCheck | None
    samples: int
    threads: int
    interval_ns: float
    is_outside: bool
    clock_error_ns: int
    cost_ns: int | None
    unread: int
    unseen: tuple[str, ...]
    hits: Hits
    pipeline: PartLines | None = None
    training_thread: PartLines | None = None


def find_hot_lines(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    attribution: Attribution,
) -> HotLines | Unavailable:
    pipeline = trace.info.pipeline
    samples = pipeline.lines if pipeline else None
    if samples is None:
        return Unavailable("lines", "not_recorded", "The trace has no samples of stacks, so lines are unknown")
    if samples.why_not:
        return Unavailable("lines", "lines_unknown", f"Lines of the code were not sampled: {samples.why_not}")
    idle = devices[0].gaps if devices else EMPTY
    hits, spans = find_hits(trace, samples, tree, attribution, idle, window)
    finder = _Finder(samples.stacks, bool(devices))
    return HotLines(
        stages=dict(sorted(finder.stages(hits, tree), key=lambda item: (-item[1].time_ns, item[0]))),
        training=dict(finder.training(hits, loader, attribution, window)),
        check=_check(hits, spans, tree),
        samples=len(hits),
        threads=len(samples.threads),
        interval_ns=_interval(samples),
        is_outside=samples.is_outside,
        clock_error_ns=samples.clock_error_ns,
        cost_ns=samples.cost_ns,
        unread=samples.unread,
        unseen=samples.unseen,
        hits=hits,
        pipeline=finder.pipeline(hits, tree),
        training_thread=finder.training_thread(hits, loader, window),
    )


def _interval(samples: LineSamples) -> float:
    gaps = [np.diff(thread.time_ns) for thread in samples if len(thread.time_ns) > 1]
    return float(np.concatenate(gaps).mean()) if gaps else 0.0


class _Finder:
    def __init__(self, stacks: Stacks, has_device: bool) -> None:
        self._stacks = stacks
        self._has_device = has_device
        self._frames: dict[int, list[Frame]] = {}

    def frames(self, stack: int) -> list[Frame]:
        if stack not in self._frames:
            self._frames[stack] = self._stacks.inwards(stack)
        return self._frames[stack]

    def is_recorder(self, stack: int) -> bool:
        """Whether the recorder's own code is what runs."""
        last = self.frames(stack)[-1]
        return last.origin == "recorder" and plain(last.function) in RECORDERS_OWN

    def stages(self, hits: Hits, tree: StageTree) -> Iterator[tuple[Stage, PartLines]]:
        last = [path[-1] for path in tree.paths]
        for stage in dict.fromkeys(last):
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

    def part(self, hits: Hits, *, whole_stack: bool, above: Sequence[tuple[Frame, ...]] | None = None) -> PartLines:
        """`above`: by node of the stage tree, what the tree of functions hangs from."""
        in_recorder = np.array([self.is_recorder(stack) for stack in hits.stack.tolist()], dtype=np.bool_)
        recorder, hits = float(hits.weight_ns[in_recorder].sum()), hits.where(~in_recorder)
        total = float(hits.weight_ns.sum())
        if len(hits) < LEAST_SAMPLES or not total:
            return PartLines(len(hits), round(total), round(recorder), (), 0, None)
        nodes = hits.node if above is not None else np.zeros_like(hits.node)
        (nodes, stacks), place = np.unique(np.stack((nodes, hits.stack)), axis=1, return_inverse=True)
        place = place.ravel()
        cut = [self.frames(stack) if whole_stack else inside_stage(self.frames(stack)) for stack in stacks.tolist()]
        hung = cut if whole_stack else [below_stage(self.frames(stack)) for stack in stacks.tolist()]
        whole = [[*above[node], *frames] for node, frames in zip(nodes.tolist(), hung, strict=True)] if above else hung
        rows = self._rows(hits, [home_of(frames) for frames in cut], place)
        return PartLines(
            len(hits),
            round(total),
            round(recorder),
            rows[:MOST_ROWS],
            max(0, len(rows) - MOST_ROWS),
            grow(hits, whole, place, MOST_NODES_OF_ALL if above else MOST_NODES),
        )

    def _rows(self, hits: Hits, homes: list[Home | None], place: npt.NDArray[np.intp]) -> tuple[LineRow, ...]:
        """`homes`: per distinct stack; `place`: per sample, which of them."""
        lines = list(dict.fromkeys((home.place, home.is_user) for home in homes if home))
        numbers = {line: number for number, line in enumerate(lines)}
        line_of = np.array([-1 if home is None else numbers[home.place, home.is_user] for home in homes])[place]
        found = (self._row(hits, line_of == number, line, homes, place) for number, line in enumerate(lines))
        return tuple(sorted(found, key=lambda row: (-row.time_ns, row.place)))

    def _row(
        self,
        hits: Hits,
        mine: npt.NDArray[np.bool_],
        line: tuple[Place, bool],
        homes: list[Home | None],
        place: npt.NDArray[np.intp],
    ) -> LineRow:
        time, whole = float(hits.weight_ns[mine].sum()), float(hits.weight_ns.sum())
        share = time / whole
        called: dict[str, float] = {}
        for stack, weight in zip(place[mine].tolist(), hits.weight_ns[mine].tolist(), strict=True):
            home = homes[stack]
            if home is not None and home.calls:
                called[home.calls] = called.get(home.calls, 0.0) + weight
        calls = max(called, key=lambda name: (called[name], name), default="")
        effective = whole**2 / float((hits.weight_ns**2).sum())
        return LineRow(
            place=line[0],
            is_user=line[1],
            samples=int(mine.sum()),
            time_ns=round(time),
            share=share,
            error=_95 * float(np.sqrt(share * (1 - share) / effective)),
            waited_share=_share(hits.waited_ns, mine),
            idle_share=_share(hits.idle_ns, mine) if self._has_device else None,
            calls=calls,
            calls_share=called[calls] / time if calls and time else 0.0,
        )


def _share(weights: npt.NDArray[np.float64], mine: npt.NDArray[np.bool_]) -> float | None:
    whole = float(weights.sum())
    return float(weights[mine].sum()) / whole if whole else None


def _check(hits: Hits, spans: SampledTime, tree: StageTree) -> ShareCheck | None:
    """Waits are left out: they are no stage whose lines anybody asks for."""
    counts = np.array([path[-1].kind != "wait" for path in tree.paths], dtype=np.bool_)
    rows = hits.node != OUTSIDE
    if len(counts):
        rows &= counts[hits.node]
    by_spans = np.where(counts, spans.self_ns, 0).astype(np.float64)
    if rows.sum() < LEAST_TO_CHECK or not by_spans.sum():
        return None
    by_samples = np.zeros(len(tree.paths))
    np.add.at(by_samples, hits.node[rows], hits.weight_ns[rows])
    shares: dict[Stage, float] = {}
    for path, difference in zip(tree.paths, by_samples / by_samples.sum() - by_spans / by_spans.sum(), strict=True):
        shares[path[-1]] = shares.get(path[-1], 0.0) + float(difference)
    worst = max(shares, key=lambda stage: abs(shares[stage]))
    return ShareCheck(worst.name, shares[worst], int(rows.sum()), sum(stage.kind != "wait" for stage in shares))
