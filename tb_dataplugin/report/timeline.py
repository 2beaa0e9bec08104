"""Timelines by level of detail: what `width` pixels can show of a slice, and no more.

A box of two pixels or more is drawn as it is; narrower ones that start in the same two pixels are merged into one,
which says how many it stands for and takes the name of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.workers import Workers, known
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.trace import BatchTable, Trace
from tb_dataplugin.report import report_pb2 as pb

MERGE_BELOW_PIXELS = 2.0


@dataclass(frozen=True, slots=True)
class LaneSource:
    """One lane at full detail. Columns are sorted by (depth, start); `name` and `color` index the source's texts."""

    id: str
    kind: str
    title: str
    start_ns: Int64Array
    end_ns: Int64Array
    depth: Int64Array
    name: Int64Array
    color: Int64Array
    index: Int64Array  # dataset index of samples, -1 for all other boxes


@dataclass(frozen=True, slots=True)
class TimelineSource:
    """All lanes of a capture, top to bottom."""

    window: Window
    lanes: tuple[LaneSource, ...]
    texts: tuple[str, ...]


class _Texts:
    """Gives each distinct text a number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def column(self, texts: list[str]) -> Int64Array:
        return int64([self.number(text) for text in texts])


def build_timeline_source(
    trace: Trace,
    window: Window,
    tree: StageTree,
    devices: tuple[DeviceIdle, ...] | Unavailable,
    loader: LoaderWait | Unavailable,
    workers: Workers | Unavailable,
) -> TimelineSource:
    texts = _Texts()
    made = {} if isinstance(workers, Unavailable) else _batches_by_pid(workers.batches.table, window)
    lanes = [*_step_lane(trace, texts), *_stage_lanes(trace, tree, texts), *_worker_lanes(trace, tree, made, texts)]
    if not isinstance(devices, Unavailable):
        for device in devices:
            lanes += [_device_lane(trace, device, texts), _gap_lane(device, loader, texts)]
    return TimelineSource(window, tuple(lanes), tuple(texts.numbers))


def _lane(
    lane_id: str,
    kind: str,
    title: str,
    start: Int64Array,
    end: Int64Array,
    depth: Int64Array,
    name: Int64Array,
    color: Int64Array,
    index: Int64Array | None = None,
) -> LaneSource:
    order = np.lexsort((start, depth))
    known_index = np.full(len(start), -1, dtype=np.int64) if index is None else index
    columns = (start, end, depth, name, color, known_index)
    return LaneSource(lane_id, kind, title, *(column[order] for column in columns))


def _step_lane(trace: Trace, texts: _Texts) -> Iterator[LaneSource]:
    rows = trace.steps.row
    if not len(rows):
        return
    start, end = trace.events.start_ns[rows], trace.events.end_ns[rows]
    names = texts.column([f"step {number}" for number in trace.steps.number.tolist()])
    color = np.full(len(rows), texts.number("step"))
    yield _lane("steps", "steps", "Steps", start, end, np.zeros_like(start), names, color)


def _stage_lanes(trace: Trace, tree: StageTree, texts: _Texts) -> Iterator[LaneSource]:
    """One lane per thread with stages that is no DataLoader worker, the training thread first."""
    own = set(np.unique(tree.track).tolist()) - trace.worker_tracks().keys()
    for track in sorted(own, key=lambda track: (track != trace.training_track, track)):
        here = np.flatnonzero(tree.track == track)
        stages = [tree.paths[number][-1] for number in tree.node[here].tolist()]
        training = track == trace.training_track
        yield _lane(
            f"thread:{track}",
            "stages",
            "Training thread" if training else trace.tracks[track].thread_name or f"thread {trace.tracks[track].tid}",
            tree.start_ns[here],
            tree.end_ns[here],
            tree.depth[here],
            texts.column([stage.name for stage in stages]),
            texts.column([stage.kind for stage in stages]),
        )


@dataclass(frozen=True, slots=True)
class _Batches:
    start_ns: Int64Array
    end_ns: Int64Array
    number: Int64Array


def _batches_by_pid(table: BatchTable, window: Window) -> dict[int, _Batches]:
    """What each worker process made; a batch that it had not finished lasts to the end of the window."""
    begun = known(table.started_ns)
    end = np.where(known(table.finished_ns), table.finished_ns, window.end_ns)
    found = {}
    for pid in np.unique(table.pid[begun]).tolist():
        mine = begun & (table.pid == pid)
        found[pid] = _Batches(table.started_ns[mine], np.maximum(end[mine], table.started_ns[mine]), table.number[mine])
    return found


def _worker_lanes(trace: Trace, tree: StageTree, made: Mapping[int, _Batches], texts: _Texts) -> Iterator[LaneSource]:
    """One lane per DataLoader worker, with or without spans."""
    tracks = {process.pid: track for track, process in trace.worker_tracks().items()}
    processes = trace.info.pipeline.workers if trace.info.pipeline else ()
    several = len({process.loader for process in processes}) > 1
    for process in sorted(processes, key=lambda process: (process.loader, process.worker, process.pid)):
        title = f"DataLoader worker {process.worker}" + (f", loader {process.loader}" if several else "")
        track = tracks.get(process.pid, -1)
        yield _worker_lane(trace, tree, track, f"worker:{process.pid}", title, made.get(process.pid), texts)


def _worker_lane(
    trace: Trace, tree: StageTree, track: int, lane_id: str, title: str, made: _Batches | None, texts: _Texts
) -> LaneSource:
    """Depth 0 holds the batches, the depths below them the stages."""
    here = np.flatnonzero(tree.track == track)
    is_sample = np.array([stage.kind == "sample" for stage in trace.stage_spans.stages], dtype=np.bool_)
    index = np.where(is_sample[trace.stage_spans.stage[here]], trace.span_facts.index[here], -1)
    stages = [tree.paths[number][-1] for number in tree.node[here].tolist()]
    nothing = np.zeros(0, dtype=np.int64)
    batches = made or _Batches(nothing, nothing, nothing)
    numbers = [f"batch {number}" if number >= 0 else "batch" for number in batches.number.tolist()]
    return _lane(
        lane_id,
        "worker",
        title,
        np.concatenate((batches.start_ns, tree.start_ns[here])),
        np.concatenate((batches.end_ns, tree.end_ns[here])),
        np.concatenate((np.zeros_like(batches.number), tree.depth[here] + 1)),
        np.concatenate((texts.column(numbers), texts.column([stage.name for stage in stages]))),
        np.concatenate((texts.column(["batch"] * len(numbers)), texts.column([stage.kind for stage in stages]))),
        np.concatenate((np.full(len(numbers), -1), index)),
    )


def _device_lane(trace: Trace, device: DeviceIdle, texts: _Texts) -> LaneSource:
    events = trace.events
    rows = np.flatnonzero(events.is_category(*DEVICE_ACTIVITY) & (events.device == device.device))
    _, stream = np.unique(events.track[rows], return_inverse=True)
    is_kernel = events.category[rows] == int(Category.KERNEL)
    return _lane(
        f"device:{device.device}",
        "device",
        f"Device {device.device}",
        events.start_ns[rows],
        events.end_ns[rows],
        int64(stream),
        texts.column([trace.names[number] for number in events.name[rows].tolist()]),
        np.where(is_kernel, texts.number("kernel"), texts.number("copy")),
    )


def _gap_lane(device: DeviceIdle, loader: LoaderWait | Unavailable, texts: _Texts) -> LaneSource:
    start, end = device.gaps.start, device.gaps.end
    waited = np.zeros_like(start) if isinstance(loader, Unavailable) else loader.waits.overlap(start, end)
    is_wait = 2 * waited > end - start
    return _lane(
        f"gaps:{device.device}",
        "gaps",
        f"Idle, device {device.device}",
        start,
        end,
        np.zeros_like(start),
        np.where(is_wait, texts.number("idle: waits for data"), texts.number("idle: other")),
        np.where(is_wait, texts.number("idle:data_wait"), texts.number("idle:unknown")),
    )


def slice_timeline(source: TimelineSource, start_us: float, end_us: float, width: int) -> pb.Timeline:
    """The slice ``[start_us, end_us)`` for `width` pixels."""
    window = Window(round(start_us * 1e3), max(round(end_us * 1e3), round(start_us * 1e3) + 1))
    texts = _Texts()
    lanes = [_slice_lane(lane, source.texts, window, width, texts) for lane in source.lanes]
    return pb.Timeline(
        start_us=window.start_ns / 1e3,
        end_us=window.end_ns / 1e3,
        window_start_us=source.window.start_ns / 1e3,
        window_end_us=source.window.end_ns / 1e3,
        lanes=lanes,
        names=texts.numbers,
    )


def _slice_lane(lane: LaneSource, known: tuple[str, ...], window: Window, width: int, texts: _Texts) -> pb.Lane:
    inside = np.flatnonzero((lane.end_ns >= window.start_ns) & (lane.start_ns < window.end_ns))
    groups = _merge(lane, inside, window.duration_ns / width * MERGE_BELOW_PIXELS)
    return pb.Lane(
        id=lane.id,
        kind=lane.kind,
        title=lane.title,
        start_us=groups.start_ns / 1e3,
        duration_us=(groups.end_ns - groups.start_ns) / 1e3,
        name=texts.column([known[number] for number in lane.name[groups.longest].tolist()]),
        depth=lane.depth[groups.longest],
        merged=groups.count,
        color=texts.column([known[number] for number in lane.color[groups.longest].tolist()]),
        index=lane.index[groups.longest] if (lane.index >= 0).any() else (),
    )


@dataclass(frozen=True, slots=True)
class _Groups:
    start_ns: Int64Array
    end_ns: Int64Array
    count: Int64Array
    longest: npt.NDArray[np.intp]  # row of the lane


def _merge(lane: LaneSource, rows: npt.NDArray[np.intp], bucket_ns: float) -> _Groups:
    """Joins neighbours of one depth that are narrower than a bucket and start in the same bucket."""
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return _Groups(nothing, nothing, nothing, rows)
    start, end, depth = lane.start_ns[rows], lane.end_ns[rows], lane.depth[rows]
    narrow = end - start < bucket_ns
    bucket = np.floor(start / bucket_ns)
    alone = ~(narrow[1:] & narrow[:-1] & (bucket[1:] == bucket[:-1]) & (depth[1:] == depth[:-1]))
    first = np.flatnonzero(np.concatenate(([True], alone)))
    count = np.diff(np.concatenate((first, [len(rows)])))
    group = np.repeat(np.arange(len(first)), count)
    by_length = np.lexsort((end - start, group))
    longest = by_length[np.cumsum(count) - 1]
    return _Groups(start[first], int64(np.maximum.reduceat(end, first)), int64(count), rows[longest])
