"""The closed vocabularies that people read: one place for page, terminal and HTML.

`scripts/generate.py` writes `frontend/src/contract/words.ts` from the tables below, so that the page has no copy of its
own. Each table is in display order; `id` is what the report carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotate.trace_format import StageKind


@dataclass(frozen=True, slots=True)
class Term:
    """`label` is for tables and legends, `meaning` explains it in one sentence."""

    id: str
    label: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class CounterTerm(Term):
    """`unit` is what all values of the counter are in."""

    unit: str = ""


@dataclass(frozen=True, slots=True)
class KindTerm(Term):
    """`terminal`: of the 256 terminal colours, the one nearest to the page's (`frontend/src/theme/stage-colors.ts`)."""

    id: StageKind
    terminal: int = 0


STAGE_KINDS: Final = (
    KindTerm("sampler", "sampler", "Drawing the indices of a batch.", terminal=61),
    KindTerm("wrapper", "wrapper", "An iterator's own code between the DataLoader and the loop.", terminal=66),
    KindTerm("read", "read", "Reading bytes from a file.", terminal=32),
    KindTerm("decode", "decode", "Decoding bytes into an image or an array.", terminal=74),
    KindTerm("transform", "transform", "A transform of one sample or one batch.", terminal=36),
    KindTerm("collate", "collate", "Collating samples into a batch.", terminal=175),
    KindTerm("transfer", "transfer", "Handing a batch over from one thread or process to another.", terminal=214),
    KindTerm("h2d", "host-to-device copy", "A copy from the host to the device.", terminal=202),
    KindTerm("user", "user", "A stage marked by the user's own annotate.stage.", terminal=142),
    KindTerm("wait", "data wait", "The training thread in the loader's next().", terminal=245),
    KindTerm("sample", "sample", "The dataset's __getitem__ or __next__, around the stages inside it.", terminal=222),
)
"""Every kind of `annotate.trace_format`, in the order of legends."""

CAUSES: Final = (
    Term("data_wait", "data wait", "The training thread waits for a batch."),
    Term("h2d", "host-to-device copy", "The host is in a host-to-device copy."),
    Term("sync", "synchronisation", "The host is blocked in a synchronising call."),
    Term(
        "launch",
        "launch",
        "The host runs operators or runtime calls more slowly than the device finishes them; or what it launched has "
        "not started yet.",
    ),
    Term("host", "host code", "The launching thread is in none of these: Python, logging, a checkpoint."),
    Term("comm", "communication", "The host is blocked in a collective: it waits for other ranks."),
    Term("unknown", "unknown", "Nothing was recorded there."),
)
"""Causes of idle device time (`IdleByCause`)."""

NO_STAGES: Final = (
    Term("startup", "startup (not yet running)", "The DataLoader worker was not running yet."),
    Term("shutdown", "shutdown (an epoch's end)", "The loader stopped its DataLoader workers."),
    Term("starved", "no index yet (not drawn)", "The training thread had not drawn the batch's index yet."),
    Term("collector", "collector (of garbage)", "Python collected all garbage of the training process."),
    Term("transfer", "transfer (result on its way)", "The batch was on its way from the DataLoader worker."),
    Term("unrecorded", "unrecorded", "No record of who built the batch."),
    Term("other_loader", "another DataLoader", "It was for a DataLoader that is not annotated."),
    Term("other", "other (between stages)", "The thread that built the batch was between stages."),
)
"""Parts of the data wait that no stage caused."""

TRANSFER_PARTS: Final = (
    Term("transfer::index", "transfer::index", "The batch's indices were on their way to the DataLoader worker."),
    Term("transfer::serialise", "transfer::serialise", "The DataLoader worker packed the batch to send it."),
    Term(
        "transfer::queue",
        "transfer::queue",
        "The finished batch lay there until its DataLoader worker packed it, or the training process took it.",
    ),
    Term("transfer::deserialise", "transfer::deserialise", "The training process unpacked the batch."),
    Term("transfer::pin", "transfer::pin", "The training process copied the batch to pinned memory."),
)
"""Of the transfer, what has a name: `trace_format.TRANSFER_PARTS`."""

BLOCKED_BY: Final = ("storage", "the network", "a lock", "another process", "sleep")
"""What a blocked thread may wait for. Storage is the first: what was in memory is not waited for there."""

LIMITS: Final = (
    Term("cpu", "CPU-bound", "Most of the self time was spent running on a CPU."),
    Term("no_cpu", "waiting for a CPU", "Most of the self time was spent ready to run, waiting for a CPU (estimated)."),
    Term("blocked", "blocked", f"Most of the self time was spent waiting ({', '.join(BLOCKED_BY)})."),
)
"""`Stage.limited_by`."""

MODES: Final = (
    Term("train", "train", "Written by annotate during training."),
    Term(
        "replay",
        "replay",
        "Written by annotate.replay: the loader alone, without training and without DataLoader workers.",
    ),
    Term("unannotated", "plain capture", "Not written by annotate: it has what torch.profiler records on its own."),
)

CONFIDENCES: Final = (
    Term("measured", "measured", "The numbers under Evidence are the finding itself: it rests on no assumption."),
    Term("likely", "likely", "It rests on an estimate or an assumption, which is named."),
    Term("possible", "possible", "A different cause could give the same numbers: check before changing anything."),
)

SEVERITIES: Final = (
    Term("high", "high", "worth doing first"),
    Term("medium", "medium", "worth a try"),
    Term("low", "low", "good to know"),
)

OUTCOMES: Final = (
    Term("faster", "faster"),
    Term("slower", "slower"),
    Term("more", "more"),
    Term("less", "less"),
    Term("not_significant", "not significant", "No significant difference, all rows taken into account."),
    Term("too_short", "too uncertain", "Its interval is unknown, or wider than ±100%."),
    Term("identical", "identical", "The same number on both sides."),
    Term("new", "new", "Only in the captures after the change."),
    Term("gone", "gone", "Only in the captures before the change."),
    Term("not_comparable", "not comparable", "The captures are of different programs."),
    Term("unknown", "unknown", "Not recorded on both sides, recorded without its noise, or not of the training loop."),
)
"""Of a comparison and of its quantities."""

RANK_CAUSES: Final = (
    Term("compute", "compute", "Operators and kernels took longer than in the other ranks' median."),
    Term(
        "host",
        "host",
        "The training thread was longer in none of these: Python, logging, a checkpoint, waiting for the GIL.",
    ),
    *NO_STAGES,
    *TRANSFER_PARTS,
)
"""Why a rank comes last (`LostOwner.cause`), where it is no stage: what it had more of than the other ranks."""

PATTERNS: Final = (
    Term("fixed", "fixed", "This rank is the main owner in more steps than by chance."),
    Term("roaming", "roaming", "The owner changes from step to step: the loader is not fast enough anywhere."),
    Term("unclear", "unclear", "Too few steps, or too uneven ones, to say whether it is always this rank."),
)
"""`LostOwner.pattern`."""

RATES: Final = (
    Term("read", "reading alone", "What reading alone could sustain."),
    Term("prepare", "preparation alone", "What all other stages alone could sustain."),
    Term("load", "both by turns", "What loading could sustain: whoever builds batches reads and prepares by turns."),
    Term("around", "around the loader", "What drawing indices and code around the DataLoader alone could sustain."),
    Term("device", "training step alone", "What the training step could sustain if every batch were ready."),
)
"""Parts of `Throughput`."""

TOPICS: Final = (
    Term("window", "window", "This capture has no timed events."),
    Term("device", "device", "No device activity was recorded in this capture."),
    Term("loader", "loader", "This capture has no span of a DataLoader."),
    Term("steps", "steps", "This capture has no ProfilerStep markers: call prof.step() once per batch."),
    Term(
        "stages",
        "stages",
        "This capture has no stage data: annotate the loader with annotate.loader(...) before you profile.",
    ),
    Term("wait_by_stage", "data wait by stage", "How much data wait this stage caused is not known."),
    Term("throughput", "throughput", "The number of samples is not known in this capture."),
    Term("workers", "DataLoader workers", "The DataLoader workers left no records in this capture."),
    Term(
        "lines",
        "lines of the code",
        "No stacks were sampled in this capture: capture with annotate.profile, lines=True as by default, or run it "
        "with tb-dataplugin run.",
    ),
    Term("file", "file", "The file has oddities."),
    Term("capture", "capture", "A note about how the capture was made."),
)
"""Topics of diagnostics; `meaning` is the plain reason where no diagnostic gives one."""

SETTINGS: Final = (
    Term("mode", "Mode"),
    Term("num_workers", "DataLoader workers"),
    Term("batch_size", "Batch size"),
    Term("prefetch_factor", "Prefetch factor"),
    Term("pin_memory", "Pinned memory"),
    Term("persistent_workers", "Persistent DataLoader workers"),
    Term("in_order", "Batches in order"),
    Term("start_method", "Start method"),
    Term("dataset", "Dataset"),
    Term("host", "Host"),
    Term("device", "Device"),
    Term("world_size", "World size"),
    Term("cores", "CPU cores"),
    Term("cpu_quota", "CPU quota"),
    Term("torch_threads", "torch threads"),
    Term("memory_bytes", "Memory"),
    Term("shm_bytes", "/dev/shm"),
)

COSTS: Final = (
    Term("build_us", "Build time", "From a batch's start to its finish, on average."),
    Term(
        "threads",
        "Threads at work",
        "CPU time of all threads of the process over that of its main thread; 1 means no hidden threads.",
    ),
    Term("read_chars", "Read", "Bytes that reads and mapped files gave; in part estimated from some batches."),
    Term("read_bytes", "Read from storage", "Bytes that came from storage."),
    Term("cached_share", "From the page cache", "Share of the bytes read that did not come from storage."),
    Term("voluntary_switches", "Voluntary context switches", "The main thread gave up its CPU to wait for something."),
    Term("involuntary_switches", "Involuntary context switches", "Another thread got the CPU."),
    Term("major_faults", "Major page faults", "Page faults that went to storage."),
    Term("system_share", "In the kernel", "Share of the build time that the main thread ran in the kernel."),
    Term("minor_faults", "Minor page faults", "Memory that was touched first: taken anew, shared, or a mapped file."),
)
"""Facts of `WorkerCosts`."""

COUNTERS: Final = (
    CounterTerm("host::cpu", "CPU", unit="%"),
    CounterTerm("host::throttled", "CPU withheld by quota", unit="us/s"),
    CounterTerm("host::memory", "Memory", unit="bytes"),
    CounterTerm("host::processes", "Memory of this job", unit="bytes"),
    CounterTerm("host::disk", "Disk reads", unit="bytes/s"),
    CounterTerm("host::disk_busy", "Disk busy", unit="%"),
    CounterTerm("host::network", "Network", unit="bytes/s"),
    CounterTerm("host::reads", "Reads of this job", unit="bytes/s"),
    CounterTerm("device::utilisation", "Device utilisation", unit="%"),
    CounterTerm("device::memory", "Device memory", unit="bytes"),
)
"""Counters of `annotate.trace_format.COUNTERS`, in the order of their lanes."""

TERMS: Final = (
    Term("window", "window", "The recorded part of a training loop: first step's start to last step's end."),
    Term(
        "step", "step", "One iteration of the training loop: from batch to batch, or from prof.step() to prof.step()."
    ),
    Term("device_idle", "device idle", "Time of the window in which the device runs no kernel and no copy."),
    Term("gap", "idle gap", "A stretch of the window without any activity on the device."),
    Term("data_wait", "data wait", "Time that the training thread spends in the loader's next()."),
    Term("exposed", "exposed data wait", "Data wait while the device is idle."),
    Term("hidden", "hidden data wait", "Data wait while the device is busy: it costs nothing now."),
    Term(
        "idle_data_wait",
        "idle: data wait",
        "Idle device time whose cause is the loader. At most the exposed data wait: during the rest of that, something "
        "else kept the device idle.",
    ),
    Term(
        "wait_by_stage",
        "data wait by stage",
        "The data wait, passed on to the stages that would have to be faster to shorten it.",
    ),
    Term("throughput", "throughput", "Samples that the training loop took, over the length of the window."),
    Term("mean_step", "mean step", "Length of a step on average. In Compare, what lies between steps is in it, too."),
    Term("self_time", "self time", "A stage's time less that of the stages inside it."),
    Term("worker", "DataLoader worker", "A process of num_workers."),
    Term(
        "starved",
        "starved",
        "A DataLoader worker without an index in its queue, while its DataLoader has more to give.",
    ),
    Term("epoch_over", "epoch over", "A DataLoader worker before an epoch's first index, or after its last."),
    Term("build_time", "build time", "From a batch's start in its DataLoader worker to its finish."),
    Term("in_queue", "time in queue", "A finished batch that was not yet asked for."),
    Term("head_of_line", "head-of-line wait", "A finished batch held back by an earlier one that is waited for."),
    Term(
        "no_cpu",
        "waiting for a CPU",
        "A thread that is ready to run but has no CPU. Of the training thread and of batches it is "
        "measured; of a stage and of a cause of idle time it is an estimate, so these figures may differ.",
    ),
    Term(
        "device_utilisation",
        "device utilisation",
        "Share of the time in which a kernel ran, copies not counted, as NVIDIA's driver has it of the last 1/6 to "
        "1 s, before the window too. Device busy is that of the trace: exact, of the window, and with copies.",
    ),
    Term("blocked", "blocked", f"A thread that waits ({', '.join(BLOCKED_BY)})."),
    Term(
        "limited_by",
        "limited by",
        "What took two thirds or more of a stage's self time: running on a CPU, waiting for one, or blocked "
        f"({', '.join(BLOCKED_BY)}).",
    ),
    Term(
        "thread_state",
        "what the training thread did meanwhile",
        "What held up the training thread in each part of the time, as samples show: Python's lock (GIL), the garbage "
        f"collector, no free CPU, or blocked ({', '.join(BLOCKED_BY)}). Percentages are of that part. It is no "
        "verdict on the loop: parts in which nothing held it up, or with too few samples, have no line.",
    ),
    Term("steady", "steady state", "The loop once its queue neither empties nor fills: what a longer run would show."),
    Term("skew", "skew", "A DataLoader worker's busy share over that of all of them together; 1.0x is even."),
    Term("ahead", "ahead", "Memory of the batches that are kept ready."),
    Term("straggler", "straggler", "The rank that others lose most time waiting for."),
    Term("inherited", "inherited", "Time that a rank lost waiting for others."),
    Term("owned", "owned", "Time that all other ranks together lost waiting for this one."),
    Term("quota", "CPU withheld by quota", "Time in which threads could have run, but the job had used up its CPUs."),
    Term(
        "outside_of_steps",
        "outside of steps",
        "Time of a run that is neither in steps nor a wait for an epoch's first batch: making datasets and loaders, "
        "evaluations without a loader, checkpoints, what is before and after all epochs; without recording windows.",
    ),
    Term(
        "stall",
        "stall",
        "A single step or data wait that took at least 3 times as long as the longest of a usual round of 20 or more, "
        "and 250 ms more than usual; in a slow time, 3 times its mean as well. Also an epoch's first batch that took "
        "longer than 1 s and than 20 steps.",
    ),
    Term(
        "slow",
        "slow",
        "A time in which most steps, or most data waits, took at least 1.5 times as long as usual; or, seen "
        "afterwards, in which the mean step did.",
    ),
    Term("interval", "95% interval", "The range that holds the true value with 95% confidence, given the noise."),
)
"""What the page explains where it stands, and in its help."""

TABLES: Final = (
    "STAGE_KINDS", "CAUSES", "NO_STAGES", "TRANSFER_PARTS", "LIMITS", "MODES", "CONFIDENCES", "SEVERITIES", "OUTCOMES",
    "RANK_CAUSES", "PATTERNS", "RATES", "TOPICS", "SETTINGS", "COSTS", "COUNTERS", "TERMS",
)  # fmt: skip
"""Names of the tables that the page gets."""

_OF_WORKERS: Final = "DataLoader workers, shared pages in each"
_SERIES: Final = {"rchar": "all reads", "read": "read from storage", "workers_bytes": _OF_WORKERS}
_SUFFIXES: Final = ("_bytes_per_s", "_per_s", "_bytes")


def label_of(terms: tuple[Term, ...], term_id: str) -> str:
    """The label of `term_id`; the id itself where the table has none."""
    return next((term.label for term in terms if term.id == term_id), term_id)


def cause_label(cause: str) -> str:
    return label_of(CAUSES, cause)


def training_part(cause: str, has_device: bool) -> str:
    """A part of the training thread's time in words, by its cause; "gil": waiting for Python's lock."""
    if cause == "gil":
        return "training thread waiting for Python's lock (GIL)"
    if not has_device:
        return "training thread outside the data wait"
    return f"training thread, idle: {cause_label(cause)}"


def counter_term(counter: str) -> CounterTerm:
    """The counter in words; any other writer's counter keeps its name and has no unit."""
    return next((term for term in COUNTERS if term.id == counter), CounterTerm(counter, counter))


def counter_order(counter: str) -> tuple[int, str]:
    """Known counters in their order, then the others by name."""
    places = [place for place, term in enumerate(COUNTERS) if term.id == counter]
    return (places[0] if places else len(COUNTERS)), counter


def series_label(series: str) -> str:
    """``"read_bytes_per_s" -> "read from storage"``: the unit stands elsewhere."""
    whole = series
    for suffix in _SUFFIXES:
        series = series.removesuffix(suffix)
    return _SERIES.get(whole) or _SERIES.get(series, series.replace("_", " "))


GAIN_BOUND: Final = "gain_bound"
"""Kind of the evidence that says why a gain is not simply the time that its cause took."""


def as_sentence(text: str) -> str:
    """With a capital and a full stop; names such as ``num_workers=0`` keep their first letter."""
    if not text:
        return ""
    first_word = text.split(" ", 1)[0]
    start = text[0].upper() + text[1:] if first_word.isalpha() else text
    return start if start.endswith((".", "!", "?")) else f"{start}."


def first_clause(text: str) -> str:
    """What stands before the first comma, colon or full stop: for where there is little room."""
    ends = [at for mark in (", ", ": ", "; ", ". ") if (at := text.find(mark)) >= 0]
    return text[: min(ends)] if ends else text.removesuffix(".")
