"""What a trace written by `annotate` carries: the one file that capture and analysis share.

Standard library only. A change of meaning raises `FORMAT_VERSION` and is listed in CHANGELOG.md. A span is named
``<kind>::<label>``. In the training process it is a `record_function` marker; DataLoader workers have process rows.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypedDict, get_args

FORMAT_VERSION: Final = 2
METADATA_KEY: Final = "dataPipeline"  # top-level key of the trace file that holds a `PipelineMetadata`
TRACE_SUFFIX: Final = ".pt.trace.json.gz"  # behind ``<host>_<pid>.<unix ns>``; torch_tb_profiler finds files by it
EPOCHS_SUFFIX: Final = ".epochs.json"  # in its place: `launch.notes.BetweenEpochs`, known when the program is over
MARKER_CATEGORY: Final = "user_annotation"
OWN_THREAD: Final = "annotate: "  # begins the names of threads that record, in the training process
SEPARATOR: Final = "::"
StageKind = Literal[
    "wait", "sampler", "wrapper", "sample", "read", "decode", "transform", "collate", "transfer", "h2d", "user"
]
STAGE_KINDS: Final[tuple[StageKind, ...]] = get_args(StageKind)
"""A new kind also needs a line in ``STAGE_KINDS`` of ``tb_dataplugin/words.py``; ARCHITECTURE.md says what follows."""

FIRST_BATCH: Final = " (first batch)"  # ends the label of a `wait` span that includes `iter(loader)`: workers' start
ITER: Final = " (iter)"  # ends that of a DataLoader's `iter()` alone, which is as long as starting its workers takes
TRANSFER_PARTS: Final = ("index", "serialise", "queue", "deserialise", "pin")
"""Labels of `transfer`, in the order in which a batch passes them; `index`: its indices, on their way to the worker."""

Mode = Literal["train", "replay"]
# Keys of a span's `args`: all of them in workers; dataset index, CPU time and bytes in the training thread.
ARG_BATCH: Final = "batch"  # 0-based number of the batch in its epoch
ARG_INDEX: Final = "index"  # dataset index
ARG_CPU_US: Final = "cpu_us"  # thread CPU time
ARG_BYTES: Final = "bytes"  # size of the stage's result
ARG_FILES: Final = "files"  # paths that a slow `sample` was read from: a list of strings, the first that it opened
ARG_WORKER: Final = "worker"
ARG_EPOCH: Final = "epoch"
WORKER_PROCESS_NAME: Final = "DataLoader worker {}"
TAKEN_ELSEWHERE: Final = "the batches are taken in another thread than the one that trains"  # begins a note
NO_WHOLE_STEP: Final = "the program ended after 0 of"  # begins the note of a window that no whole step was recorded in

# Host samples: counter events (ph "C") of the training process. Name -> meaning of its series (keys of `args`).
# A value holds from its event to the next: that of a rate stands where its time begins. Units: tb_dataplugin/words.py.
COUNTERS: Final[dict[str, str]] = {
    "host::cpu": "percent busy, one series per core that the process may run on ('core 0')",
    "host::throttled": "us_per_s: CPU time that the cgroup's quota withheld",
    "host::memory": "used_bytes, available_bytes",
    "host::processes": "training_process_bytes, workers_bytes: resident memory; shared pages count in each",
    "host::disk": "read_bytes_per_s, over all block devices",
    "host::disk_busy": "percent of the time with requests in flight, one series per block device ('sda')",
    "host::network": "received_bytes_per_s, sent_bytes_per_s",
    "host::reads": "rchar_per_s (all reads), read_bytes_per_s (from storage): training process and DataLoader workers",
    "device::utilisation": "percent by NVML, one series per device ('device 0')",
    "device::memory": "used bytes by NVML, one series per device",
}


class Stage(NamedTuple):
    """A parsed span name."""

    kind: StageKind
    label: str

    @property
    def name(self) -> str:
        return span_name(self.kind, self.label)


def span_name(kind: StageKind, label: str) -> str:
    """``("transform", "RandomCrop") -> "transform::RandomCrop"``."""
    return f"{kind}{SEPARATOR}{label}"


def parse_span_name(name: str) -> Stage | None:
    """The stage that `name` stands for, or None when the name is not one of ours."""
    kind, separator, label = name.partition(SEPARATOR)
    if not separator or kind not in STAGE_KINDS:
        return None
    return Stage(kind, label)


class LoaderMetadata(TypedDict, total=False):
    """Settings of one DataLoader as the user made it. A key that does not apply is left out."""

    name: str  # class of the loader
    dataset: str  # class of the dataset
    batch_size: int
    num_workers: int
    prefetch_factor: int
    pin_memory: bool
    persistent_workers: bool
    start_method: str  # fork | spawn | forkserver
    in_order: bool
    drop_last: bool
    whole: bool  # batch_size=None: what its dataset gives is handed out as it is, a sample or a batch
    iterable: bool  # its dataset has no indices
    divided: bool  # of such a one: something in its code may give each DataLoader worker a part of it
    drawn: bool  # its code seems to draw its items at random, without an end; left out where it does not show that
    sampler: str  # class of the sampler
    sampler_length: int  # indices that one of torch's samplers gives in an epoch
    replacement: bool  # the sampler draws with replacement
    shuffle: bool  # the sampler is to give another order in each epoch
    iterated: int  # how often iter(loader) was called while the capture was on
    iterated_in_window: int  # the same, in the window
    stepped: bool  # its batches drove the steps: it was given to prof.steps
    gone: bool  # the program holds it no longer; left out of an annotate.profile, and where there is one loader
    passes_us: list[tuple[float, float | None]]  # latest ones, of several loaders: iter() called; iterator let go
    passes_ts_us: list[tuple[float, float | None]]  # the same in the trace's time; left out where that is not known


class HostMetadata(TypedDict, total=False):  # of the machine; unavailable facts are omitted
    name: str
    cores: int  # that this process may run on (CPU affinity)
    cpu_quota: float  # cgroup quota in cores; left out when unlimited
    memory_bytes: int
    shm_bytes: int  # size of /dev/shm
    torch_threads: int


class OverheadMetadata(TypedDict, total=False):
    """What recording cost: so many markers and worker spans of about so many microseconds each, measured meanwhile."""

    marker_us: float
    marker_count: int
    operator_us: float  # that recording one operator of torch adds; left out where it could not be measured
    own_us_before: list[float]  # from a batch to the next wait, in the latest steps without a profiler
    heap_bytes: list[int]  # in use in the training process when the window opened and when it closed; left out: unknown
    worker_span_us: float  # median over the workers
    worker_span_count: int  # of all workers together


class LibraryThreads(TypedDict, total=False):
    """Threads that libraries use in one process, each beside those of the other workers."""

    torch_threads: int  # torch.get_num_threads()
    cv2_threads: int  # cv2.getNumThreads()
    omp_threads: int  # OMP_NUM_THREADS


class Lifetime(TypedDict, total=False):  # of a DataLoader worker
    init_us: tuple[float, float]  # when the user's worker_init_fn began and returned; left out where there is none
    ended_us: float  # when it ended by itself; left out while it lives, and where it was killed


class WorkerMetadata(LibraryThreads, Lifetime):
    """One DataLoader worker process that recorded. Times are the trace's `ts`: microseconds since its base time."""

    loader: int  # index into `loaders`
    worker: int
    pid: int
    started_us: float  # when it was ready to work: its worker_init_fn had returned
    dropped_spans: int


class BatchRecords(TypedDict):
    """Batches that workers made: equally long columns, in order of `started_us`. Times are the trace's `ts`; None: not
    (yet) happened, or not seen. Earlier batches too, if consumed in the window."""

    loader: list[int]  # index into `loaders`
    epoch: list[int]  # 0-based: how often the loader had been iterated before
    batch: list[int]  # 0-based number in the epoch; -1 when it could not be known
    worker: list[int]
    pid: list[int]
    drawn_us: list[float | None]  # indices put into the worker's queue
    started_us: list[float | None]
    finished_us: list[float | None]
    serialise_us: list[float | None]  # its worker begins to serialise it
    serialised_us: list[float | None]  # and has done so: from here to `deserialise_us` it is on its way
    deserialise_us: list[float | None]  # the training process begins to deserialise it
    arrived_us: list[float | None]  # unpacked in the training process
    consumed_us: list[float | None]  # handed out: lies inside the wait that received it, of whichever thread
    elsewhere: list[bool | None]  # to another thread than the training thread; left out in earlier captures
    samples: list[int | None]  # indices drawn for it; None of an iterable dataset


class BatchCosts(TypedDict, total=False):
    """What making a batch cost its worker: columns beside `BatchRecords`; None where it was not measured. Each worker
    measures a batch about every 200 ms, process_cpu_us and gc_us all. Unavailable columns are omitted."""

    process_cpu_us: list[float | None]  # CPU time of all the worker's threads
    run_delay_us: list[float | None]  # the main thread waited for a CPU (/proc schedstat)
    voluntary_switches: list[int | None]  # voluntary context switches of the main thread: it waited for something
    involuntary_switches: list[int | None]  # involuntary context switches of the main thread
    read_chars: list[int | None]  # bytes that reads returned, from storage or the page cache (rchar)
    read_bytes: list[int | None]  # bytes that came from storage
    major_faults: list[int | None]
    gc_us: list[float | None]  # Python's garbage collector
    system_cpu_us: list[float | None]  # CPU time of the main thread in the kernel
    minor_faults: list[int | None]  # page faults of the main thread that memory alone answered


class _ThreadTimes(TypedDict):
    cpu_us: float
    run_delay_us: float  # waiting for a CPU (/proc schedstat)
    gc_us: float  # Python's garbage collector, in this or another thread: it stops them all


class ThreadCosts(_ThreadTimes, total=False):
    """What the training thread spent in the recorded window; what is unavailable is omitted."""

    process_cpu_us: float  # CPU time of all threads of its process
    passing_children_cpu_us: float  # of its child processes that began or ended in the window, and those below them
    lasting_children_cpu_us: float  # of the others; the recorder's own process is none of them
    loader_worker_pids: list[int]  # of these those that torch has named DataLoader workers, recorded or not


class SampledThread(TypedDict):
    """What one thread was seen to do by the watcher: equally long columns, a row for each sample."""

    pid: int
    tid: int
    training: bool  # it is the training thread; else the main thread of a DataLoader worker
    lock_known: bool  # whether waiting for Python's lock (the GIL) can be told from other waiting
    start_us: float  # `ts` of the first sample
    after_us: list[int]  # how long after `start_us`
    state: list[int]  # THREAD_STATES; from THREAD_WAITS_FOR_LOCK + 1 on: it waits, and `holders` has who held the lock
    cpu_us: list[int]  # on a CPU since the sample before; 0 in the first
    delay_us: list[int]  # waiting for a CPU since the sample before


THREAD_STATES: Final = ("running", "blocked", "lock")
"""Running or waiting for a CPU; waiting for something else; waiting for Python's lock, and not known who held it."""
THREAD_WAITS_FOR_LOCK: Final = THREAD_STATES.index("lock")


class ThreadSamples(TypedDict, total=False):  # of the training thread and the main threads of DataLoader workers
    threads: list[SampledThread]
    holders: list[str]  # names of threads that held the lock
    cpu_us: float  # what taking the samples cost, in the watcher's process
    left_out: int  # samples beyond the limit
    why_not: str  # why there are none, as a clause
    why_no_lock: str  # why waiting for the lock is not known of any thread, as a clause


LINES_VERSION: Final = 1  # of `LineSamples`: a reader leaves out what has a higher one
LINES_VERSION_NATIVE: Final = 2  # with native frames: who does not know them would take them for the user's code

LineSampler = Literal["outside", "inside"]
"""A process that reads this one's memory; or a thread of each, whose samples stand for the time since the last."""


class _LineFrames(TypedDict):
    """Places in the code: equally long columns. Functions and files are indices into `LineSamples.names`."""

    function: list[int]  # its qualified name where the interpreter has one
    file: list[int]
    line: list[int]  # that was being executed; 0: unknown
    first: list[int]  # where the function begins; with it and the file, functions of one name are told apart
    source: list[int]  # the line's text, of the user's own code, as an index into `LineSamples.names`; -1: not recorded


class LineFrames(_LineFrames, total=False):
    native: list[int]  # rows of native frames: `function` is a symbol, `file` a library or source file, the rest is 0


class NativeFacts(TypedDict):
    samples: int  # of threads whose native frames were read
    joined: int  # got theirs, which may be none
    cpu_us: float
    left_out: int  # processes beyond the limit
    why_not: list[str]  # why some are missing, each a clause


class LineStacks(TypedDict):
    """Stacks as a tree, outermost frame first: a stack is the number of its innermost node. Parents come first."""

    parent: list[int]  # -1: none
    frame: list[int]  # index into the columns of `LineFrames`


RECORDERS_OWN: Final = frozenset(
    ("read_cpu", "close_span", "_open", "size_of", "flushed", "as_number", "take_rows", "flush_or_drop")
)
"""Functions of the recorder that call nothing of the user's: a stack that ends in one is the recorder's own time. One
that ends in any other frame of the recorder is in C code that the frame called for the user."""


class SampledLines(TypedDict):
    """The stacks of one thread: equally long columns, a row for each sample."""

    pid: int
    tid: int
    training: bool  # it is the training thread
    start_us: float  # `ts` of the first sample
    since_us: list[int]  # since the sample before; 0 in the first
    stack: list[int]  # index into the columns of `LineStacks`; -1: it could not be read
    state: list[int]  # index into THREAD_STATES; -1: the sampler cannot tell


class LineSamples(TypedDict, total=False):
    """Python stacks of the training thread, of threads that run stages, and of DataLoader workers, in the window."""

    version: int  # LINES_VERSION
    sampler: LineSampler
    names: list[str]
    frames: LineFrames
    stacks: LineStacks
    threads: list[SampledLines]
    holders: list[SampledLines]  # threads of the training process that had Python's lock, and ran no stage
    holder_names: list[str]  # theirs, as in `ThreadSamples.holders`
    clock_error_us: float  # reading one stack took this long (p99): a sample's time is known to within it
    cpu_us: float  # what taking the samples cost; outside, that of `ThreadSamples` is in it
    unread: int  # samples whose stack could not be read
    left_out: int  # samples beyond the limit
    libraries: list[str]  # folders of the standard library and of installed packages: code elsewhere is the user's
    recorder: str  # folder of the recorder: its frames stand where a stage begins
    unseen: list[str]  # what the sampler could not see, each a sentence
    native: NativeFacts  # absent where they were not asked for
    why_not: str  # why there are none, as a clause


class Collections(TypedDict, total=False):  # when Python's garbage collector ran for at least 50 us: columns, in order
    start_us: list[float]
    length_us: list[float]
    pid: list[int]  # only in `cpu_readings`: of a DataLoader worker, whose main thread it was, or the training process


class ReplayedSamples(TypedDict):
    """Samples that were named to be loaded again, alone: equally long columns. The first load is not counted."""

    index: list[int]
    captured_us: list[float | None]  # in the capture that it was named from
    typical_us: list[float | None]  # the median there
    read_us: list[float | None]  # of captured_us, in reading files, if that was most
    storage_share: list[float | None]  # of its reading there: what came from storage
    line: list[str]  # that most of its stacks in that capture were at
    stage: list[str]  # that had most of its time in that capture
    differs: list[list[str]]  # settings of that capture's DataLoader that this one doesn't have
    cold: list[bool]  # whether the last load, with its files out of the page cache, did read from storage
    files: list[list[str]]  # that its first load opened


StepSource = Literal["profiler", "optimizer", "batch"]
"""Who ends the steps: ``ProfilerStep#`` spans; the optimizer, once per new training batch or several; each batch."""


class StepRecords(TypedDict, total=False):  # of the window
    source: StepSource
    boundaries_us: list[float]  # one more than there are steps; omitted where the profiler makes spans of them
    before_us: list[float]  # duration of each step before it, without a profiler and without the first ones
    evaluates: bool  # source "batch": all were taken without gradients, and others of the program before with them
    asked_s: float  # how long it was to last; left out where so many steps were asked for, or none


class CallerMetadata(TypedDict):
    """A generator or iterator around a loader's ``next()``, in no `wait` span; the loop itself if a step ends there"""

    function: str  # its qualified name where the interpreter has one
    file: str
    first: int  # where the function begins
    generator: bool  # else a `__next__`
    batches: int  # made or handed out while it runs
    steps_inside: int  # that ended while it ran
    steps: int  # that ended at all; 0 where nobody told of any


class HeadspaceRecord(TypedDict):
    """Steps that were served copies of batches, and steps of the loop's own before them; no profiler was on."""

    asked: int  # steps
    own_us: list[float]  # duration of each step with the loader's batches, in order
    step_us: list[float]  # the same with copies
    memory_bytes: int  # of the copies
    clock: Literal["host", "device"]  # device: between events on the training thread's current stream


class HandingOver(TypedDict, total=False):  # a batch without DataLoader workers; in pickle where that was tried
    tensors: int  # in it; always there
    serialise_us: float
    deserialise_us: float
    bytes: int  # without the tensors


class PipelineMetadata(TypedDict, total=False):
    """Value of the top-level key `METADATA_KEY`."""

    version: int
    mode: Mode
    loaders: list[LoaderMetadata]
    host: HostMetadata
    versions: dict[str, str]  # library -> version
    overhead: OverheadMetadata
    dropped_spans: int
    workers: list[WorkerMetadata]
    batches: BatchRecords
    batch_costs: BatchCosts
    training_thread: ThreadCosts  # omitted where unavailable
    steps: StepRecords
    thread_samples: ThreadSamples
    lines: LineSamples
    stages_at: dict[str, str]  # span name -> "file:line" of what it is named for: class, function, annotate.stage
    collections: Collections  # in the training thread
    collections_elsewhere: Collections  # in other threads
    cpu_readings: Collections  # when a thread waited for a CPU as the recorder read its CPU time, for at least 50 us
    callers: list[CallerMetadata]  # around the loaders, the innermost first
    replayed: ReplayedSamples
    replayed_usual: list[int]  # dataset indices of usual samples, loaded after them; the first load is not counted
    headspace: HeadspaceRecord  # added to the file of the last window, some steps after it
    handing_over: HandingOver
    notes: list[str]  # sentences for the reader, e.g. how a replay differs from workers
