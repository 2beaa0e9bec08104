"""From an idle gap back to its origin: launch, wait, batch, worker, sample, stage; without a wait launch and operator.
Beside them the runtime call with most of the gap. Each link is a span to look at.

All links of the loader are of one batch: the one that the wait received to which the gap's stage belongs. A DataLoader
worker goes on to later batches while a finished one is on its way: their samples and stages are no links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.batch_limits import find_batch_limits
from tb_dataplugin.analyses.batch_shares import paced_by_workers, received_in_turn
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.host_activity import operator_rows, outermost_rows
from tb_dataplugin.analyses.launches import NONE, Rows
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import UNKNOWN_NS, Trace


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one row of the trace. `track` is None where the trace has no row for it."""

    name: str
    start_ns: int
    end_ns: int
    track: int | None

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class BatchLink:
    """The batch that a wait received. `span` is its building, None where that is not in the trace; `number` is -1 when
    it is not known. `in_queue_ns`: since when it was finished as the wait began, 0 where it was not; None if unknown.
    """

    number: int
    epoch: int
    loader: int
    worker: int
    pid: int
    span: Span | None
    in_queue_ns: int | None


@dataclass(frozen=True, slots=True)
class Chain:
    """What led to one gap. None: the gap has no such link, or the trace does not show it.

    `operator` is the outermost one with most of the gap, where no data wait explains that: what kept the host. `call`
    is the runtime call with most of it, also in a data wait: what it takes is not the operator's or loader's own code.
    `sample` and `stage` are of that batch, in the thread that built it; a stage that the training thread was in itself
    is in that. The sample overlaps the wait. `index` is its dataset index, -1 when it is not known, `files` what it was
    read from, which the recorder keeps of the slowest samples.
    """

    launch: Span | None = None
    wait: Span | None = None
    batch: BatchLink | None = None
    sample: Span | None = None
    index: int = -1
    files: tuple[str, ...] = ()
    stage: Span | None = None
    operator: Span | None = None
    call: Span | None = None


@dataclass(frozen=True, slots=True)
class _Received:
    """A row of the batch table, and the part of the wait that it has."""

    row: int
    part: Window


class ChainFinder:
    """Follows single gaps of one device: only those that are shown are worth it. `by_stage`: all of the data wait."""

    def __init__(
        self,
        trace: Trace,
        tree: StageTree,
        loader: LoaderWait | None,
        workers: Workers | None,
        device: DeviceIdle,
        attributed: DeviceAttribution,
        by_stage: Mapping[str, Intervals],
    ) -> None:
        self.trace, self.tree, self.loader, self.workers = trace, tree, loader, workers
        self.device, self.attributed, self.by_stage = device, attributed, by_stage
        self._received = received_in_turn(workers.batches) if workers else None
        batches = workers.batches if workers else None
        self._paced = paced_by_workers(batches, find_batch_limits(batches.table)) if batches else None
        self._stages = np.array([path[-1].name for path in tree.paths], dtype=object)
        self._is_sample = np.array([path[-1].kind == "sample" for path in tree.paths], dtype=np.bool_)
        self._pieces: dict[int, Rows] = {}
        self._samples: dict[int, Rows] = {}
        self._outermost: dict[tuple[int, bool], Rows] = {}

    def of_gap(self, gap: int) -> Chain:
        launch, waited = self._launch(gap), self._waited(gap)
        is_late = not self.attributed.gap_queued_ns[gap] * 2 >= self._length_ns(gap)  # else nothing kept the host
        call = self._longest_during(gap, launch, of_runtime=True) if is_late else None
        name = self.attributed.gap_stage[gap]
        caused = self._within(gap, self.by_stage.get(name, EMPTY)).intersect(waited) if name else waited
        wait = self._longest_wait(caused)
        if wait is None:
            return Chain(launch, operator=self._longest_during(gap, launch) if is_late else None, call=call)
        batch = self._batch_received_in(wait, caused)
        track = self._track_that_made(batch)
        during = waited.clip(wait if batch is None else batch.part)
        built = during if batch is None else during.intersect(self._building(batch.row))
        stage = self._stage_in(track, built, name)
        if stage is None and batch is not None:  # it was in that stage before the wait
            stage = self._stage_in(track, self._built_for(batch, wait), name)
        sample = self._sample_around(track, stage, built)
        training = self.trace.training_track
        if stage is None:  # the sampler, an iterator around the loader
            stage = self._stage_in(training, during, name)
        return Chain(
            launch=launch,
            wait=Span("wait", wait.start_ns, wait.end_ns, training),
            batch=self._batch_link(batch),
            sample=None if sample is None else self._span(sample),
            index=-1 if sample is None else int(self.trace.span_facts.index[sample]),
            files=() if sample is None else self.trace.span_facts.files.get(sample, ()),
            stage=None if stage is None else self._span(stage),
            call=call,
        )

    def _length_ns(self, gap: int) -> int:
        return int(self.device.gaps.end[gap] - self.device.gaps.start[gap])

    def _launch(self, gap: int) -> Span | None:
        row = int(self.attributed.gap_ends.launch[gap])
        return None if row == NONE else self._event(row)

    def _longest_during(self, gap: int, launch: Span | None, of_runtime: bool = False) -> Span | None:
        """The operator, or runtime call, in which the thread that launches was for at least half of the gap."""
        track = self.trace.training_track if launch is None else launch.track
        if track is None:
            return None
        gaps, events, rows = self.device.gaps, self.trace.events, self._outermost_of(track, of_runtime)
        start_ns, end_ns = int(gaps.start[gap]), int(gaps.end[gap])
        first = int(np.searchsorted(events.end_ns[rows], start_ns, side="right"))  # they are disjoint
        rows = rows[first : int(np.searchsorted(events.start_ns[rows], end_ns))]
        spent = np.minimum(events.end_ns[rows], end_ns) - np.maximum(events.start_ns[rows], start_ns)
        best = int(spent.argmax()) if len(rows) else 0
        return self._event(int(rows[best])) if len(rows) and 2 * spent[best] >= end_ns - start_ns else None

    def _outermost_of(self, track: int, of_runtime: bool) -> Rows:
        """The outermost operators, or runtime calls, of one row of the trace, by start."""
        key = (track, of_runtime)
        if key not in self._outermost:
            events = self.trace.events
            rows = np.flatnonzero(events.is_category(Category.RUNTIME)) if of_runtime else operator_rows(self.trace)
            self._outermost[key] = outermost_rows(self.trace, rows[events.track[rows] == track])
        return self._outermost[key]

    def _event(self, row: int) -> Span:
        events = self.trace.events
        name = self.trace.names[int(events.name[row])]
        return Span(name, int(events.start_ns[row]), int(events.end_ns[row]), int(events.track[row]))

    def _waited(self, gap: int) -> Intervals:
        return self._within(gap, self.attributed.causes.get("data_wait", EMPTY))

    def _within(self, gap: int, time: Intervals) -> Intervals:
        gaps = self.device.gaps
        return time.clip(Window(int(gaps.start[gap]), int(gaps.end[gap])))

    def _longest_wait(self, waited: Intervals) -> Window | None:
        """The wait with most of `waited`."""
        if self.loader is None or not len(waited):
            return None
        waits = self.loader.waits
        touched = np.flatnonzero((waits.end > waited.start[0]) & (waits.start < waited.end[-1]))
        best = touched[waited.overlap(waits.start[touched], waits.end[touched]).argmax()]
        return Window(int(waits.start[best]), int(waits.end[best]))

    def _batch_received_in(self, wait: Window, waited: Intervals) -> _Received | None:
        """Of several batches that came in one wait, the one whose part has most of `waited`; of equal ones the last."""
        if self.workers is None or self._received is None:
            return None
        batches, received = self.workers.batches, self._received
        parts = np.flatnonzero(batches.wait_start_ns[received.row] == wait.start_ns)[::-1]
        if len(parts):
            best = parts[waited.overlap(received.start[parts], received.end[parts]).argmax()]
            part = Window(int(received.start[best]), int(received.end[best]))
            return _Received(int(received.row[best]), part)
        consumed = np.where(batches.wait_start_ns == wait.start_ns, batches.table.consumed_ns, UNKNOWN_NS)
        last = int(consumed.argmax()) if len(consumed) else 0
        return _Received(last, wait) if len(consumed) and consumed[last] != UNKNOWN_NS else None

    def _building(self, row: int) -> Intervals:
        """When the batch was built; nothing where that is not known."""
        if self.workers is None:
            return EMPTY
        table = self.workers.batches.table
        start, end = int(table.started_ns[row]), int(table.finished_ns[row])
        return EMPTY if UNKNOWN_NS in (start, end) else Intervals.union([start], [end])

    def _built_for(self, batch: _Received, wait: Window) -> Intervals:
        """The building that has a share of the wait: all of it where throughput limits, or where the wait saw its end;
        else a finished batch waits for what is not its worker's work on it.
        """
        building = self._building(batch.row)
        if self._paced is not None and self._paced[batch.row]:
            return building
        return building if len(building) and building.end[-1] > wait.start_ns else EMPTY

    def _batch_link(self, batch: _Received | None) -> BatchLink | None:
        if batch is None or self.workers is None:
            return None
        row, table, track = batch.row, self.workers.batches.table, self._track_that_made(batch)
        number, start, end = int(table.number[row]), int(table.started_ns[row]), int(table.finished_ns[row])
        in_queue = int(self.workers.batches.in_queue_ns[row])
        name = f"batch {number}" if number >= 0 else "batch"
        return BatchLink(
            number=number,
            epoch=int(table.epoch[row]),
            loader=int(table.loader[row]),
            worker=int(table.worker[row]),
            pid=int(table.pid[row]),
            span=None if UNKNOWN_NS in (start, end) else Span(name, start, end, track),
            in_queue_ns=None if in_queue == UNKNOWN_NS else in_queue,
        )

    def _track_that_made(self, batch: _Received | None) -> int | None:
        if batch is None or self.workers is None:
            return self.trace.training_track
        pid = int(self.workers.batches.table.pid[batch.row])
        return next((track for track, made in self.trace.worker_tracks().items() if made.pid == pid), None)

    def _stage_in(self, track: int | None, waited: Intervals, stage: str) -> int | None:
        """The span of that stage, on that row, that was the deepest for the longest of `waited`."""
        if track is None or not len(waited):
            return None
        tree, pieces = self.tree, self._pieces_of(track)
        first, last = np.searchsorted(tree.piece_start[pieces], (waited.start[0], waited.end[-1]))
        pieces = pieces[max(int(first) - 1, 0) : int(last)]
        spans = tree.piece_span[pieces]
        spent = waited.overlap(tree.piece_start[pieces], tree.piece_end[pieces])
        spent[self._stages[tree.node[spans]] != stage] = 0
        if not spent.any():
            return None
        distinct, place = np.unique(spans, return_inverse=True)
        total = np.bincount(place, weights=spent)
        best = distinct[total == total.max()]
        return int(best[tree.start_ns[best].argmin()])

    def _pieces_of(self, track: int) -> Rows:
        """Pieces of one row of the trace, by start."""
        if track not in self._pieces:
            mine = self.tree.pieces_of_track(track)
            self._pieces[track] = np.arange(mine.start, mine.stop)
        return self._pieces[track]

    def _samples_of(self, track: int) -> Rows:
        if track not in self._samples:
            tree = self.tree
            mine = np.flatnonzero(tree.track == track)
            mine = mine[self._is_sample[tree.node[mine]]]
            self._samples[track] = mine[np.lexsort((tree.depth[mine], tree.start_ns[mine]))]
        return self._samples[track]

    def _sample_around(self, track: int | None, stage: int | None, waited: Intervals) -> int | None:
        """The sample of the stage span, if `waited` has some of it; without a stage the one with most of it."""
        if track is None:
            return None
        tree, samples = self.tree, self._samples_of(track)
        if stage is not None:
            around = (tree.start_ns[samples] <= tree.start_ns[stage]) & (tree.end_ns[samples] >= tree.end_ns[stage])
            samples = samples[around][-1:]
        spent = waited.overlap(tree.start_ns[samples], tree.end_ns[samples])
        return int(samples[spent.argmax()]) if len(samples) and spent.any() else None

    def _span(self, row: int) -> Span:
        tree = self.tree
        name = tree.paths[tree.node[row]][-1].name
        return Span(name, int(tree.start_ns[row]), int(tree.end_ns[row]), int(tree.track[row]))
