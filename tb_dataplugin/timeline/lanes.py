"""What a capture's timeline is drawn from: lanes of spans and counters, with every level of detail worked out.

`slicing` makes the picture of a slice from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import Stage
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.idle_causes import CAUSES, Cause
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import StageTree, groups
from tb_dataplugin.analyses.steps import find_steps
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.limits import MOST_ROWS
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window, int64
from tb_dataplugin.model.trace import BatchTable, Trace, WorkerProcess
from tb_dataplugin.timeline.calls import (
    OPERATOR_TOKEN,
    RUNTIME_TOKEN,
    ThreadCalls,
    call_lane_id,
    calls_by_thread,
    operators_of,
    runtime_calls_of,
)
from tb_dataplugin.timeline.counters import CounterChart, CounterLine, counter_charts
from tb_dataplugin.timeline.pyramid import Int32Array, Row, build_row
from tb_dataplugin.words import cause_label


@dataclass(frozen=True, slots=True)
class LaneOwner:
    """Whose lane it is. `loader_title` names the loader of a DataLoader worker where the capture has several."""

    worker: int | None = None
    loader: int | None = None
    device: int | None = None
    training_thread: bool = False
    loader_title: str = ""


NOBODY: Final = LaneOwner()

NOTHING: Final = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class LaneSource:
    """One lane: rows of boxes, the outermost first, or the lines of a counter.

    `unit` and `top` are a counter's: what its values are in, and the value at the upper edge of its lane.
    """

    id: str
    kind: str
    title: str
    rows: tuple[Row, ...] = ()
    lines: tuple[CounterLine, ...] = ()
    unit: str = ""
    top: float = 0.0
    owner: LaneOwner = NOBODY


@dataclass(frozen=True, slots=True)
class Label:
    """What a box is called, and the theme's token of its colour."""

    text: str
    token: str


@dataclass(frozen=True, slots=True)
class TimelineSource:
    """All lanes of a capture, top to bottom. The boxes' labels index `labels`.

    `undrawn`: per label, the stages and calls of that name that begin in the window and stand in no lane.
    """

    window: Window
    lanes: tuple[LaneSource, ...]
    labels: tuple[Label, ...]
    undrawn: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Memory of the columns."""
        rows = sum(row.nbytes for lane in self.lanes for row in lane.rows)
        return rows + sum(16 * len(line.time_ns) for lane in self.lanes for line in lane.lines)


class _Labels:
    """Gives each distinct label a number."""

    def __init__(self) -> None:
        self.numbers: dict[Label, int] = {}

    def number(self, text: str, token: str) -> int:
        return self.numbers.setdefault(Label(text, token), len(self.numbers))

    def column(self, texts: Sequence[str], token: str) -> Int32Array:
        return np.array([self.number(text, token) for text in texts], dtype=np.int32)

    def of_events(self, trace: Trace, rows: npt.NDArray[np.intp], token: str) -> Int32Array:
        names, which = np.unique(trace.events.name[rows], return_inverse=True)
        return self.column([trace.names[name] for name in names.tolist()], token)[which]

    def of_stages(self, stages: Sequence[Stage], number: npt.NDArray[np.int64]) -> Int32Array:
        """Per span, the label of its stage: `stages[number]`."""
        table = np.zeros(len(stages), dtype=np.int32)
        for used in np.unique(number).tolist():
            table[used] = self.number(stages[used].name, stages[used].kind)
        return table[number]


def worker_lane_id(loader: int, worker: int) -> str:
    """One lane for all processes of one worker id."""
    return f"worker:{loader}.{worker}"


def thread_lane_id(track: int) -> str:
    return f"thread:{track}"


def lane_ids(trace: Trace, tree: StageTree) -> dict[int, str]:
    """Row of the trace -> id of the lane that shows it, for the rows that have stages."""
    workers = trace.worker_tracks()
    tracks = np.unique(tree.track).tolist()
    return {track: _worker_lane(workers[track]) if track in workers else thread_lane_id(track) for track in tracks}


def _worker_lane(process: WorkerProcess) -> str:
    return worker_lane_id(process.loader, process.worker)


def build_timeline_source(results: Results) -> TimelineSource:
    trace, tree, window, workers = results.trace, results.tree, results.window, results.workers
    labels = _Labels()
    made = {} if workers is None else _batches_by_pid(workers.batches.table, window)
    lives = {} if workers is None else {times.process.pid: times.alive for times in workers.times}
    spans = _spans_by_track(tree)
    lanes = [*_step_lane(trace, labels), *_stage_lanes(trace, tree, spans, labels)]
    lanes += (_call_lane(trace, calls, labels) for calls in calls_by_thread(results))
    quiet = {summary.loader for summary in results.worker_summaries if summary.quiet}
    lanes += _worker_lanes(trace, quiet, tree, spans, made, lives, labels)
    lanes += map(_counter_lane, counter_charts(trace.counters))
    for device, attributed in zip(results.devices, results.attribution.devices, strict=True):
        lanes += [_device_lane(trace, device, labels), _gap_lane(device, attributed.gap_causes_ns, labels)]
    missing = _undrawn(_label_of_each(results, labels), lanes, window, len(labels.numbers))
    return TimelineSource(window, tuple(lanes), tuple(labels.numbers), missing)


def _label_of_each(results: Results, labels: _Labels) -> Int32Array:
    """Of every stage and call that begins in the window, of all threads and depths."""
    trace, tree, window = results.trace, results.tree, results.window
    inside = np.flatnonzero(tree.starts_in(window))
    columns = [labels.of_stages([path[-1] for path in tree.paths], tree.node[inside])]
    for rows, token in ((operators_of(trace), OPERATOR_TOKEN), (runtime_calls_of(trace), RUNTIME_TOKEN)):
        start = trace.events.start_ns[rows]
        here = rows[(start >= window.start_ns) & (start < window.end_ns)]
        columns.append(labels.of_events(trace, here, token))
    return np.concatenate(columns)


def _undrawn(label: Int32Array, lanes: Sequence[LaneSource], window: Window, labels: int) -> tuple[int, ...]:
    """Per label, how many of these no lane has: operators inside others, or stages of very many threads."""
    spans = [row.spans for lane in lanes for row in lane.rows]
    drawn = np.concatenate([NOTHING, *(some.label[some.within(window)] for some in spans)])
    missing = np.bincount(label, minlength=labels) - np.bincount(drawn, minlength=labels)
    return tuple(np.maximum(missing, 0).tolist())


def _rows(
    start: Int64Array, end: Int64Array, depth: Int64Array, label: Int32Array, index: Int64Array | None = None
) -> tuple[Row, ...]:
    """Spans in any order as one row per depth."""
    by_depth = []
    order = np.argsort(depth, kind="stable")
    for here in np.split(order, np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=-1)) + 1))):
        samples = index is not None and bool((index[here] >= 0).any())
        by_depth.append(
            build_row(start[here], end[here], label[here], index[here] if samples and index is not None else None)
        )
    return tuple(by_depth)


def _step_lane(trace: Trace, labels: _Labels) -> Iterator[LaneSource]:
    """The steps that the profiler marked, or else those that the recorder saw end."""
    steps = find_steps(trace)
    if isinstance(steps, Unavailable):
        return
    names = labels.column([f"step {number}" for number in steps.number.tolist()], "step")
    yield LaneSource("steps", "steps", "Steps", (build_row(steps.start_ns, steps.end_ns, names),))


def _spans_by_track(tree: StageTree) -> dict[int, npt.NDArray[np.intp]]:
    """The stage spans of every thread that are drawn: with very many threads not those deep inside others."""
    drawn = np.flatnonzero(tree.depth < max(2, MOST_ROWS // max(1, len(np.unique(tree.track)))))
    return dict(groups(tree.track, drawn))


def _stage_lanes(
    trace: Trace, tree: StageTree, spans: Mapping[int, npt.NDArray[np.intp]], labels: _Labels
) -> Iterator[LaneSource]:
    """One lane per thread with stages that is no DataLoader worker, the training thread first."""
    own = spans.keys() - trace.worker_tracks().keys()
    stages = [path[-1] for path in tree.paths]
    for track in sorted(own, key=lambda track: (track != trace.training_track, track)):
        here = spans[track]
        training = track == trace.training_track
        title = (
            "Training thread" if training else trace.tracks[track].thread_name or f"thread {trace.tracks[track].tid}"
        )
        label = labels.of_stages(stages, tree.node[here])
        rows = _rows(tree.start_ns[here], tree.end_ns[here], tree.depth[here], label)
        yield LaneSource(thread_lane_id(track), "stages", title, rows, owner=LaneOwner(training_thread=training))


def _call_lane(trace: Trace, calls: ThreadCalls, labels: _Labels) -> LaneSource:
    """A row of operators above one of runtime calls."""
    events = trace.events
    rows = []
    for here, token in ((calls.operators, OPERATOR_TOKEN), (calls.runtime, RUNTIME_TOKEN)):
        rows.append(build_row(events.start_ns[here], events.end_ns[here], labels.of_events(trace, here, token)))
    owner = LaneOwner(training_thread=calls.track == trace.training_track)
    return LaneSource(call_lane_id(calls.track), "calls", calls.title, tuple(rows), owner=owner)


@dataclass(frozen=True, slots=True)
class _Batches:
    start_ns: Int64Array
    end_ns: Int64Array
    number: Int64Array


def _batches_by_pid(table: BatchTable, window: Window) -> dict[int, _Batches]:
    """What each worker process made, by pid; a batch that it had not finished lasts to the end of the window."""
    begun = known(table.started_ns)
    end = np.where(known(table.finished_ns), table.finished_ns, window.end_ns)
    by_pid = {}
    for pid, mine in groups(table.pid, np.flatnonzero(begun)):
        by_pid[pid] = _Batches(
            table.started_ns[mine], np.maximum(end[mine], table.started_ns[mine]), table.number[mine]
        )
    return by_pid


def _worker_lanes(
    trace: Trace,
    quiet: Set[int],
    tree: StageTree,
    spans: Mapping[int, npt.NDArray[np.intp]],
    made: Mapping[int, _Batches],
    lives: Mapping[int, Intervals],
    labels: _Labels,
) -> Iterator[LaneSource]:
    """One lane per DataLoader worker id, with or without spans: it goes on through all processes of that id.

    Where there are several, a row of their own at the end shows them. Those of `quiet` loaders have nothing to show.
    """
    tracks = {process.pid: track for track, process in trace.worker_tracks().items()}
    recorded = trace.info.pipeline.workers if trace.info.pipeline else ()
    processes = [process for process in recorded if process.loader not in quiet]
    several = len({process.loader for process in processes}) > 1
    by_worker: dict[tuple[int, int], set[int]] = {}
    for process in processes:
        by_worker.setdefault((process.loader, process.worker), set()).add(process.pid)
    for (loader, worker), pids in sorted(by_worker.items()):
        title, loader_title = f"DataLoader worker {worker}", f"loader {loader}" if several else ""
        owner = LaneOwner(worker=worker, loader=loader, loader_title=loader_title)
        here = [spans[tracks[pid]] for pid in sorted(pids) if tracks.get(pid) in spans]
        batches = [made[pid] for pid in sorted(pids) if pid in made]
        changes = _process_row({pid: lives[pid] for pid in sorted(pids) if pid in lives}, labels)
        rows = (*_worker_rows(trace, tree, np.concatenate([NOTHING, *here]), batches, labels), *changes)
        yield LaneSource(worker_lane_id(loader, worker), "worker", title, rows, owner=owner)


def _process_row(lives: Mapping[int, Intervals], labels: _Labels) -> tuple[Row, ...]:
    """When each process of one worker id was alive; nothing to show where it was one process all the time."""
    lived = {pid: life for pid, life in lives.items() if len(life)}
    if len(lived) < 2:
        return ()
    start = int64([int(life.start[0]) for life in lived.values()])
    end = int64([int(life.end[-1]) for life in lived.values()])
    return (build_row(start, end, labels.column([f"process {pid}" for pid in lived], "process")),)


def _worker_rows(
    trace: Trace, tree: StageTree, here: npt.NDArray[np.intp], made: Sequence[_Batches], labels: _Labels
) -> tuple[Row, ...]:
    """The batches, and below them the stages, whose spans are `here`."""
    is_sample = np.array([one.kind == "sample" for one in trace.stage_spans.stages], dtype=np.bool_)
    is_sample = is_sample[trace.stage_spans.stage[here]]
    index = np.where(is_sample, trace.span_facts.index[here], -1)
    stages = labels.of_stages([path[-1] for path in tree.paths], tree.node[here])
    start = np.concatenate([int64([]), *(batches.start_ns for batches in made)])
    end = np.concatenate([int64([]), *(batches.end_ns for batches in made)])
    numbers = [number for batches in made for number in batches.number.tolist()]
    first = build_row(start, end, labels.column([_batch_title(number) for number in numbers], "batch"))
    return (first, *_rows(tree.start_ns[here], tree.end_ns[here], tree.depth[here], stages, index))


def _batch_title(number: int) -> str:
    return f"batch {number}" if number >= 0 else "batch"


def _counter_lane(chart: CounterChart) -> LaneSource:
    return LaneSource(chart.id, "counter", chart.title, (), chart.lines, chart.unit, chart.top)


def _device_lane(trace: Trace, device: DeviceIdle, labels: _Labels) -> LaneSource:
    """One row per stream."""
    events = trace.events
    rows = np.flatnonzero(events.is_category(*DEVICE_ACTIVITY) & (events.device == device.device))
    _, stream = np.unique(events.track[rows], return_inverse=True)
    is_kernel = events.category[rows] == int(Category.KERNEL)
    keys, what = np.unique(2 * events.name[rows].astype(np.int64) + is_kernel, return_inverse=True)
    table = [labels.number(trace.names[key // 2], "kernel" if key % 2 else "copy") for key in keys.tolist()]
    label = np.array(table, dtype=np.int32)[what]
    lanes = _rows(events.start_ns[rows], events.end_ns[rows], int64(stream), label)
    owner = LaneOwner(device=device.device)
    return LaneSource(f"device:{device.device}", "device", f"Device {device.device}", lanes, owner=owner)


def _gap_lane(device: DeviceIdle, causes: Mapping[Cause, Int64Array], labels: _Labels) -> LaneSource:
    """A gap has the colour of what it has most of, as in the report."""
    start, end = device.gaps.start, device.gaps.end
    known_causes = [cause for cause in CAUSES if cause in causes]
    texts = [(f"Idle: {cause_label(cause)}", f"idle:{cause}") for cause in known_causes]
    numbers = np.array([labels.number(text, token) for text, token in texts], dtype=np.int32)
    label = numbers[np.argmax([causes[cause] for cause in known_causes], axis=0)] if len(start) else numbers[:0]
    title = f"Idle, device {device.device}"
    owner = LaneOwner(device=device.device)
    return LaneSource(f"gaps:{device.device}", "gaps", title, (build_row(start, end, label),), owner=owner)
