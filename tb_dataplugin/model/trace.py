"""A whole trace, read and named: what the analyses take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from annotate.trace_format import StepSource
from tb_dataplugin.diagnostics import CUT, Diagnostic
from tb_dataplugin.model.beside_events import (
    CollectiveFacts,
    CopyFacts,
    CounterSeries,
    SpanFacts,
    StageSpans,
    StepSpans,
)
from tb_dataplugin.model.events import DEVICE_ACTIVITY, EventTable
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.line_samples import Caller, LineSamples
from tb_dataplugin.model.replayed import Replayed
from tb_dataplugin.model.thread_samples import ThreadSamples

Mode = Literal["train", "replay", "unannotated"]


@dataclass(frozen=True, slots=True)
class Track:
    """A row of the trace: a thread of a process, or a stream of a device."""

    pid: str
    tid: str
    process_name: str
    thread_name: str


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class LoaderInfo:
    """Settings of a DataLoader as the capture recorded them. None or "": not recorded."""

    name: str = ""
    dataset: str = ""
    batch_size: int | None = None
    num_workers: int | None = None
    prefetch_factor: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    start_method: str = ""
    in_order: bool | None = None
    iterated: int | None = None
    iterated_in_window: int | None = None
    stepped: bool | None = None
    gone: bool | None = None
    passes_us: tuple[tuple[float, float | None], ...] = ()
    passes_ts_us: tuple[tuple[float, float | None], ...] = ()
    """The latest, by one clock for all loaders, and from the trace's beginning on: begin, and end where it is known."""
    drop_last: bool | None = None
    whole: bool | None = None
    """Its dataset's samples or batches are handed out as they are (``batch_size=None``)."""
    iterable: bool | None = None
    divided: bool | None = None
    drawn: bool | None = None
    """Whether an iterable dataset's code may give each worker a part of it; seems to draw at random, without an end."""
    sampler: str = ""
    sampler_length: int | None = None
    replacement: bool | None = None
    shuffle: bool | None = None

    @property
    def is_whole(self) -> bool:
        """As `whole`; without that record by the sampler, which stands beside no batch size only then."""
        return bool(self.whole) or (self.batch_size is None and self.sampler == "BatchSampler")


@dataclass(frozen=True, slots=True)
class HostInfo:
    """Facts of the capturing machine. None: not recorded."""

    name: str = ""
    cores: int | None = None
    cpu_quota: float | None = None
    memory_bytes: int | None = None
    shm_bytes: int | None = None
    torch_threads: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A DataLoader worker that recorded. `started_ns`: when its worker_init_fn had returned, on the trace's clock;
    `ended_ns`: when it ended by itself, None while it lives and where it was killed. `init_ns`: when that function was
    called and returned; None without one, and where it was not recorded.

    Threads: how many each library uses in this process, by ``torch.get_num_threads()``, ``cv2.getNumThreads()`` and
    OMP_NUM_THREADS; None when it was not loaded or set.
    """

    loader: int
    worker: int
    pid: int
    started_ns: int
    dropped_spans: int
    ended_ns: int | None = None
    init_ns: Window | None = None
    torch_threads: int | None = None
    cv2_threads: int | None = None
    omp_threads: int | None = None


UNKNOWN_NS: Final = -(2**63)
"""In the time columns of `BatchTable`: did not happen before the window closed, or was not seen."""


@dataclass(frozen=True, slots=True)
class BatchTable:
    """Batches that DataLoader workers built, one row each, by start. Times in ns on the trace's clock, or `UNKNOWN_NS`.

    `number` is the 0-based number in the epoch, -1 when it could not be known. `serialise_ns` to `serialised_ns` it is
    serialised in its worker, `deserialise_ns` to `arrived_ns` deserialised in the training process. `samples`: indices
    drawn for it, -1 where the dataset has none and where it was not recorded. `elsewhere`: 1 where another thread than
    the training one took it, for no wait of that one as far as is known; else 0 (-1 until the reader has found it).
    """

    loader: Int64Array
    epoch: Int64Array
    number: Int64Array
    worker: Int64Array
    pid: Int64Array
    drawn_ns: Int64Array
    started_ns: Int64Array
    finished_ns: Int64Array
    serialise_ns: Int64Array
    serialised_ns: Int64Array
    deserialise_ns: Int64Array
    arrived_ns: Int64Array
    consumed_ns: Int64Array
    samples: Int64Array
    elsewhere: Int64Array

    def __len__(self) -> int:
        return len(self.number)

    @property
    def received_ns(self) -> Int64Array:
        """`consumed_ns` of those that the training thread's waits may have been for."""
        return np.where(self.elsewhere > 0, UNKNOWN_NS, self.consumed_ns)


@dataclass(frozen=True, slots=True)
class BatchCosts:
    """What building each batch cost its worker process, row by row with `BatchTable`; -1 where it was not recorded.

    process_cpu_ns                  CPU time of all its threads
    run_delay_ns                    its main thread waited for a CPU
    voluntary, involuntary          context switches of its main thread
    read_chars, read_bytes          bytes that reads returned; the part of them that came from storage
    major_faults                    page faults that went to storage
    gc_ns                           Python's garbage collector
    system_cpu_ns                   CPU time of its main thread in the kernel
    minor_faults                    page faults of its main thread that memory alone answered
    """

    process_cpu_ns: Int64Array
    run_delay_ns: Int64Array
    voluntary: Int64Array
    involuntary: Int64Array
    read_chars: Int64Array
    read_bytes: Int64Array
    major_faults: Int64Array
    gc_ns: Int64Array
    system_cpu_ns: Int64Array
    minor_faults: Int64Array


@dataclass(frozen=True, slots=True)
class ThreadCosts:
    """What a thread spent in the window: running; waiting for a CPU; of both, in Python's garbage collector; and the
    CPU time of all threads of its process, and of child processes: that began or ended in the window, and others.
    None: not recorded. `loader_worker_pids`: DataLoader workers among these children, whether recorded or not.
    """

    cpu_ns: int
    run_delay_ns: int
    gc_ns: int | None = None
    process_cpu_ns: int | None = None
    passing_children_ns: int | None = None
    lasting_children_ns: int | None = None
    loader_worker_pids: tuple[int, ...] = ()

    @property
    def children_ns(self) -> int | None:
        """Of all child processes, recorded DataLoader workers among them."""
        passing, lasting = self.passing_children_ns, self.lasting_children_ns
        return None if passing is None or lasting is None else passing + lasting


@dataclass(frozen=True, slots=True)
class HeadspaceSteps:
    """Steps on copies of batches, and steps with the loader right before: their durations, in order.

    `clock`: "device" where they are between events on it. `memory_bytes`: of the copies.
    """

    own_ns: tuple[int, ...]
    step_ns: tuple[int, ...]
    asked: int
    memory_bytes: int
    clock: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What pickling a batch takes, and loading it again, measured where there are no DataLoader workers; `size`: bytes
    of the pickle, without `tensors`; None: it was not pickled.
    """

    serialise_ns: int
    deserialise_ns: int
    size: int | None
    tensors: int


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between epochs of the whole program, `times` of them, from its first epoch to the beginning of its last
    in `whole_us`. `made`: DataLoaders alike, one after another; `loader`: number of the first of them.
    """

    times: int
    total_us: float
    longest_us: float
    whole_us: float
    made: int
    loader: int


@dataclass(frozen=True, slots=True)
class PipelineInfo:
    """What `annotate` wrote about a capture, checked. `collections`: of garbage, in the training thread and in others
    of its process. `cpu_readings`: by pid, when a thread waited for a CPU as the recorder read its CPU time.
    `stages_at`: span name and place in the code, ``file:line``. `callers`: what calls a loader's ``next()``, the
    innermost first. `asked_s`: how long the window was to last, where `attach` asked for seconds.
    """

    mode: Mode
    loaders: tuple[LoaderInfo, ...] = ()
    host: HostInfo = HostInfo()
    versions: tuple[tuple[str, str], ...] = ()
    marker_us: float | None = None
    marker_count: int | None = None
    operator_us: float | None = None
    own_us_before: tuple[float, ...] = ()
    """Of the loop's own work, from a batch to the next wait, in steps without a profiler."""
    heap_grown_bytes: int | None = None
    """By so much more is in use in the training process at the window's end than at its begin; freed blocks are not."""
    worker_span_us: float | None = None
    worker_span_count: int | None = None
    dropped_spans: int | None = None
    workers: tuple[WorkerProcess, ...] = ()
    batches: BatchTable | None = None
    batch_costs: BatchCosts | None = None
    training_thread: ThreadCosts | None = None
    thread_samples: ThreadSamples | None = None
    collections: Intervals | None = None
    collections_elsewhere: Intervals | None = None
    cpu_readings: tuple[tuple[int, Intervals], ...] = ()
    lines: LineSamples | None = None
    callers: tuple[Caller, ...] = ()
    replayed: tuple[Replayed, ...] = ()
    replayed_usual: tuple[int, ...] = ()  # dataset indices of usual samples that were loaded again beside these
    headspace: HeadspaceSteps | None = None
    handed_over: HandedOver | None = None
    stages_at: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    between: Between | None = None
    """None where the program did not leave it beside the trace."""
    steps_before_us: tuple[float, ...] = ()
    """Durations of steps before the window, without a profiler and after those that full queues make short."""
    asked_s: float | None = None
    step_source: StepSource = "profiler"
    evaluates: bool | None = None  # all batches without gradients, others before with them; None: not recorded
    step_boundaries_ns: Int64Array | None = None
    """Where the profiler makes no spans of the steps: their ends in order, and before them the first one's start."""

    @property
    def recorder_overhead_us(self) -> float | None:
        """Markers recorded times the measured cost of one."""
        return _product(self.marker_us, self.marker_count)

    @property
    def worker_overhead_us(self) -> float | None:
        """The same in the DataLoader workers, all of them together."""
        return _product(self.worker_span_us, self.worker_span_count)


def _product(each: float | None, count: int | None) -> float | None:
    return None if each is None or count is None else each * count


EARLIEST_UNIX_NS: Final = 10**18
MixedLoop = Literal["", "with", "without", "unclear"]


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """What the trace says about itself. None or "": it does not say.

    `single_process_loader`: torch's spans name its iterator for zero workers, in most steps or alone. `mixed_loop`:
    what most steps ask, beside loaders of the other kind. `origin_unix_ns`: what time the machine's clock showed when
    the trace's times are 0, `origin_ns`: what the file writes for it. `has_frames`: Python's, by torch's with_stack.
    """

    file: str
    name: str
    rank: int | None = None
    world_size: int | None = None
    host: str = ""
    devices: tuple[DeviceInfo, ...] = ()
    single_process_loader: bool = False
    mixed_loop: MixedLoop = ""
    has_frames: bool = False
    origin_unix_ns: int = 0
    origin_ns: int = 0
    groups: tuple[ProcessGroup, ...] = ()
    pipeline: PipelineInfo | None = None

    @property
    def mode(self) -> Mode:
        return self.pipeline.mode if self.pipeline else "unannotated"

    def unix_ns(self, at_ns: int) -> int:
        """Of a moment of the trace; 0 where that is no time since 2001, as where it counts from its machine's start."""
        return unix_ns if (unix_ns := self.origin_unix_ns + at_ns) > EARLIEST_UNIX_NS else 0


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group as torch describes it. Empty `ranks`: not said."""

    name: str
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """`training_track` is the thread that carries the steps (without steps: the waits), None when there is none.

    `extent`: first to last timed event of a known category, those that `events` leaves out included; None without any.
    """

    info: TraceInfo
    events: EventTable
    extent: Window | None
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    steps: StepSpans
    stage_spans: StageSpans
    span_facts: SpanFacts  # row by row with `stage_spans`
    training_track: int | None
    copies: CopyFacts
    collectives: CollectiveFacts
    counters: tuple[CounterSeries, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_cut(self) -> bool:
        """Whether the end of the file is missing."""
        return any(note.code in CUT for note in self.diagnostics)

    @property
    def is_device_cut(self) -> bool:
        """Whether part of the device activity is missing with the end of the file: not the last part in time, as
        kernels that another thread launched stand behind all of the first one's.
        """
        return any(note.code == "cut_in_devices" for note in self.diagnostics)

    def worker_tracks(self) -> dict[int, WorkerProcess]:
        """Row of the trace -> the DataLoader worker whose own thread it shows."""
        known = {str(worker.pid): worker for worker in (self.info.pipeline.workers if self.info.pipeline else ())}
        own = {track.pid for track in self.tracks if track.tid == track.pid}
        return {
            number: known[track.pid]
            for number, track in enumerate(self.tracks)
            if track.pid in known and (track.tid == track.pid or track.pid not in own)
        }

    def device_ids(self) -> list[int]:
        """Devices that did anything, in ascending order."""
        active = self.events.is_category(*DEVICE_ACTIVITY)
        return [int(device) for device in np.unique(self.events.device[active])]
