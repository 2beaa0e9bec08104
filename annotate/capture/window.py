"""What belongs to one recorded window, whoever's profiler records it: what is begun, ended, and written of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from annotate.capture.missing import what_is_missing
from annotate.capture.session import Session
from annotate.hooks import batch_tensors
from annotate.hooks.loaders import describe
from annotate.host import facts, heap
from annotate.host.sampler import HostSampler
from annotate.host.stack_thread import WORKERS_NOT_SAMPLED, StackThread
from annotate.host.watching import States, Watch
from annotate.options import Lines
from annotate.recording import switch
from annotate.recording.boundaries import Boundaries
from annotate.recording.callers import Callers
from annotate.recording.definitions import places
from annotate.recording.operator_cost import OperatorCost
from annotate.recording.training_thread import Ledger, cost_of_a_marker_us
from annotate.saying import guard
from annotate.trace import writer
from annotate.trace.clock import Anchors
from annotate.trace.merge import WorkerRows
from annotate.trace.stacks import line_samples
from annotate.trace.thread_states import thread_records
from annotate.trace_format import (
    FORMAT_VERSION,
    CallerMetadata,
    LineSamples,
    LoaderMetadata,
    Mode,
    PipelineMetadata,
    StepRecords,
    StepSource,
)
from annotate.workers.capturing import Snapshot


class Window:
    """The recorders of a session's windows, one window after the other: `open`, `close`, `recorded`."""

    def __init__(
        self,
        session: Session,
        *,
        host_sample_ms: int,
        lines: Lines = True,
        mode: Mode = "train",
        notes: tuple[str, ...] = (),
        loaders: tuple[object, ...] = (),
        counts_steps: bool = False,
        weighs_profiler: bool = False,
        own_us: Callable[[], list[float]] = list,
        further: Callable[[], PipelineMetadata] = PipelineMetadata,
    ) -> None:
        """
        Args:
            lines: sample the stacks of threads; "native": with native frames.
            counts_steps: the profiler is a user's, who may never call its ``step``.
            weighs_profiler: measure what the profiler adds to an operator. Its probes are operators in the trace: not
                where the profiler is a user's.
            own_us: durations of the loop's own work in steps before the window, in microseconds.
            notes: sentences that each trace of this session carries.
            loaders: those that the metadata describes; empty: the session's.
            further: what else the metadata says, asked when a window is written.
        """
        self._session = session
        self._mode: Final = mode
        self._notes = notes
        self._loaders = loaders
        self._further: Final = further
        self._own_us: Final = own_us
        self._host = HostSampler(host_sample_ms, session.workers.pids)
        self._watch = Watch(is_wanted=host_sample_ms > 0, with_stacks=bool(lines), native=lines == "native")
        self._lines, self._stack_thread = bool(lines) and host_sample_ms > 0, StackThread()
        """The thread samples stacks in windows in which the watcher cannot."""
        self._ledger = Ledger()
        self._boundaries = Boundaries() if counts_steps else None
        self._callers = Callers()
        self._anchors = Anchors()
        self._marker_us = 0.0
        self._heap_bytes: list[int | None] = []
        self._operator_cost, self._weighs_profiler = OperatorCost(), weighs_profiler

    def begin(self) -> None:
        """The session has begun, and windows may follow."""
        self._watch.begin()
        if self._weighs_profiler:
            self._operator_cost.begin()

    def open(self) -> None:
        """Record the calling thread; torch's profiler must be recording."""
        self._session.refresh()
        batch_tensors.forget()
        self._heap_bytes = [heap.in_use()]
        self._anchors = Anchors()
        self._anchors.begin()
        self._session.workers.open_window()
        self._ledger.open()
        self._marker_us = cost_of_a_marker_us()
        self._operator_cost.open()
        self._host.start()
        self._watch.open()
        if self._lines and not self._watch.reads_stacks:
            with guard("annotate does not sample stacks"):
                self._stack_thread.open(self._watch.why_no_stacks)
        self.look_around()
        self._session.workers.on_forked = self.look_around
        self._callers.open()
        if self._boundaries is not None:
            self._boundaries.open()

    def batch(self, now: int) -> None:
        """The loop got a batch (``perf_counter_ns``), or with zero workers asked for it."""
        self.look_around()
        if self._boundaries is not None:
            self._boundaries.batch(now)

    def look_around(self) -> None:
        """While it is open: there may be new workers, and other transforms."""
        self._session.patches.look_again()
        self._watch.add_workers(self._session.workers.pids(), self._session.forks_workers)

    def boundaries(self) -> tuple[StepSource, list[int]]:
        """Of the steps in the window that is open, so far (``perf_counter_ns``)."""
        return ("batch", []) if self._boundaries is None else self._boundaries.found()

    def close(self, *, is_last: bool = False) -> None:
        """Harmless when it is not open. torch's profiler must still be recording.

        Args:
            is_last: no other window of this session will follow.
        """
        self._callers.close()
        self._session.workers.on_forked = None
        if self._boundaries is not None:
            self._boundaries.close()
        self._host.stop()
        self._watch.close()
        self._stack_thread.close()
        self._ledger.close()
        if self._session.workers.window is not None and not self._session.workers.window[1]:
            self._anchors.end()
        self._session.workers.close_window(is_last=is_last)
        if len(self._heap_bytes) == 1:
            self._heap_bytes.append(heap.in_use())

    @property
    def ends(self) -> tuple[Callable[[], None], ...]:
        """What ends the recorders where a window is given up; each may be called again."""
        ends = self._callers.close, self._host.stop, self._watch.end, self._stack_thread.close, self._ledger.close
        return ends if self._boundaries is None else (*ends, self._boundaries.close)

    def recorded(self, *, is_kept: bool = False) -> Recorded:
        """The window that was closed last.

        Args:
            is_kept: it is written later, when the session may be over and batches have come and gone.
        """
        workers = Snapshot(self._session.workers) if is_kept else self._session.workers
        return Recorded(
            rows=WorkerRows(workers, self._anchors, self._host.samples, self._ledger),
            ledger=self._ledger,
            states=self._watch.states,
            stacks=self._stack_thread.take(),
            mode=self._mode,
            marker_us=self._marker_us,
            operator_us=self._operator_cost.added_us,
            own_us=self._own_us(),
            heap_bytes=[found for found in self._heap_bytes if found is not None],
            loaders=list(map(describe, self._loaders)) or self._session.describe_loaders(),
            unread=self._session.unread(),
            boundaries=None if self._boundaries is None else self._boundaries.found(),
            evaluates=self._boundaries is not None and self._boundaries.evaluates,
            callers=self._callers.found(),
            notes=[*self._notes, *self._session.patches.notes],
            no_native=self._watch.why_no_native,
            further=self._further,
            tensors=batch_tensors.found(),
        )


@dataclass
class Recorded:
    """A window that was closed, as it is written: it needs nothing of its session any more."""

    rows: WorkerRows
    ledger: Ledger
    states: States
    stacks: States | None
    """Where the watcher could not read any."""
    mode: Mode
    marker_us: float
    operator_us: float | None
    """What the profiler adds to an operator; None where that could not be measured."""
    own_us: list[float]
    """The loop's own work in steps before the window."""
    heap_bytes: list[int]
    """In use when the window opened and when it closed; fewer where that is unknown."""
    loaders: list[LoaderMetadata]
    unread: list[str]
    """What is to be said where no sample was recorded."""
    notes: list[str]
    boundaries: tuple[StepSource, list[int]] | None
    """Of the steps (``perf_counter_ns``), where the profiler makes no spans of them."""
    evaluates: bool = False
    """All its batches are an evaluation's, of a program that trains."""
    callers: list[CallerMetadata] = field(default_factory=list)
    """Generators and iterators around the loaders."""
    further: Callable[[], PipelineMetadata] = PipelineMetadata
    tensors: int | None = None
    """Of a batch that the training process made; None: not known."""
    before_us: list[float] = field(default_factory=list)
    """Durations of steps before the window, where they were seen."""
    asked_s: float | None = None
    """How long it was to last, where that was asked for."""
    no_native: str = ""
    """Why there are no native frames, where they were asked for."""
    missing: list[str] = field(default_factory=list)
    """Sentences about what it lacks; known when `metadata` has been asked for."""

    def metadata(self, written: writer.Written) -> PipelineMetadata:
        rows = self.rows
        workers, costs = rows.workers(), rows.batch_costs()
        names = written.names | rows.names()
        self.missing = what_is_missing(self.unread, self.ledger, rows, names)
        native = self.states.native
        why = self.no_native or (native.why_not[0] if native and native.why_not and not native.texts else "")
        if why:
            self.missing.append(f"no native frames: {why}. Lines are as without them.")
        metadata: PipelineMetadata = {
            "version": FORMAT_VERSION,
            "mode": self.mode,
            "loaders": self._loaders(),
            "host": facts.describe_host(),
            "versions": facts.describe_versions(),
            "overhead": {
                "marker_us": round(self.marker_us, 3),
                "marker_count": written.markers,
                "worker_span_us": rows.span_us(),
                "worker_span_count": rows.span_count,
            },
            "dropped_spans": sum(worker["dropped_spans"] for worker in workers),
            "workers": workers,
            "batches": rows.batches(),
            "notes": [*self.notes, *self.missing],
        }
        if self.operator_us is not None:
            metadata["overhead"]["operator_us"] = round(self.operator_us, 3)
        if self.own_us:
            metadata["overhead"]["own_us_before"] = self.own_us
        if len(self.heap_bytes) == 2:
            metadata["overhead"]["heap_bytes"] = self.heap_bytes
        if costs:
            metadata["batch_costs"] = costs
        readings = rows.cpu_readings()
        if readings is not None:
            metadata["cpu_readings"] = readings
        if self.tensors is not None:
            metadata["handing_over"] = {"tensors": self.tensors}
        metadata["steps"] = self._steps()
        if self.before_us:
            metadata["steps"]["before_us"] = self.before_us
        if metadata["steps"]["source"] == "batch":
            metadata["steps"]["evaluates"] = self.evaluates
        if self.asked_s is not None:
            metadata["steps"]["asked_s"] = self.asked_s
        if self.callers:
            metadata["callers"] = self.callers
        with guard("annotate lost the lines that take the time"):
            metadata["stages_at"] = places(names)
            metadata["lines"] = self._lines()
        return {**metadata, **thread_records(self.states, self.ledger, rows.clock), **self.further()}

    def _loaders(self) -> list[LoaderMetadata]:
        """With their passes in the trace's own time, too, so that a wait shows in which pass it was."""
        clock = self.rows.clock
        if clock is None:
            return self.loaders

        def at(us: float) -> float:
            return round(int(clock.ts_ns(round(us * 1000))) / 1000, 3)

        passes = [facts.get("passes_us", []) for facts in self.loaders]
        moved = [[(at(began), None if ended is None else at(ended)) for began, ended in each] for each in passes]
        return [
            {**facts, "passes_ts_us": own} if own else facts for facts, own in zip(self.loaders, moved, strict=True)
        ]

    def _lines(self) -> LineSamples:
        elsewhere = {span.thread for span in self.ledger.elsewhere}
        if self.stacks is None:
            return line_samples(self.states, self.rows.clock, elsewhere)
        found = line_samples(self.stacks, self.rows.clock, elsewhere, "inside")
        if not any(loader.get("num_workers") for loader in self.loaders):
            found["unseen"] = [each for each in found.get("unseen", []) if not each.startswith(WORKERS_NOT_SAMPLED)]
        return found

    def _steps(self) -> StepRecords:
        source, boundaries = self.boundaries or ("profiler", [])
        is_one = len(boundaries) <= 2  # and so is the profiler's own, whoever ends it
        if self.boundaries is None or self.rows.has_steps_told or (self.rows.has_steps and is_one):
            return {"source": "profiler"}
        clock = self.rows.clock
        times = [] if clock is None else [round(int(clock.ts_ns(time)) / 1000, 3) for time in boundaries]
        return {"source": source, "boundaries_us": times}


def names_handed_out(renamed: dict[str, str] | None = None) -> dict[str, str]:
    """Marker name -> span name of all our markers."""
    return {**switch.HANDED_OUT, **(renamed or {})}
