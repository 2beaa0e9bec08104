"""What making a batch cost this process, by the system's counts: CPU time, time waiting for a CPU, switches, reads."""

from __future__ import annotations

import contextlib
import os
import threading
from time import perf_counter_ns, process_time_ns
from typing import Final

from annotate.host import garbage

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

COLUMNS: Final = (
    "process_cpu_us",
    "run_delay_us",
    "voluntary_switches",
    "involuntary_switches",
    "read_chars",
    "read_bytes",
    "major_faults",
    "gc_us",
    "system_cpu_us",
    "minor_faults",
)
"""Keys of `trace_format.BatchCosts`, in the order of a reading."""

UNKNOWN: Final = -1
EVERY_NS = 200_000_000
"""A batch is measured when it begins so long after the last measured one did.

Right after a batch's work the caches are cold, and a reading takes 60 us instead of 3: too much for each batch. Of each
batch are the CPU time of the process (batches that follow a long one are measured most often, and say nothing of that)
and the time in the garbage collector: few collections are long, and which batches have them is chance. That one costs
nothing: it is a sum that the collector's callbacks keep.
"""

NOT_TOLD: Final = (UNKNOWN,) * len(COLUMNS)
_BEFORE_GC: Final = NOT_TOLD[1 : COLUMNS.index("gc_us")]
_AFTER_GC: Final = NOT_TOLD[COLUMNS.index("gc_us") + 1 :]

Reading = tuple[int, ...]
"""Totals since the process began, nanoseconds for times, one for each of `COLUMNS`; `UNKNOWN` where not reported."""


class Meter:
    """Reads the totals of this process and the thread that makes it: five system calls, files kept open."""

    def __init__(self) -> None:
        garbage.start()  # first: where it fails, no file is open yet
        self._is_open = True
        self._pid: Final = os.getpid()
        self._schedstat = _open(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._io = _open("/proc/self/io")
        self._begun_at = perf_counter_ns() - EVERY_NS
        self._is_turn = False
        """The batch in work is measured."""

    def close(self) -> None:
        """Harmless twice."""
        if self._is_open:
            self._is_open = False
            garbage.stop()
        for file in (self._schedstat, self._io):
            if file is not None:
                with contextlib.suppress(OSError):
                    os.close(file)
        self._schedstat = self._io = None

    def begin(self) -> Reading:
        """The totals as a batch begins; of what is known of each batch when it is not this one's turn."""
        now = perf_counter_ns()
        self._is_turn = now - self._begun_at >= EVERY_NS
        if not self._is_turn:
            return _of_each()
        self._begun_at = now
        return self.read()

    def since(self, first: Reading) -> Reading:
        """What a batch has added that began with it."""
        return between(first, self.read() if self._is_turn else _of_each())

    def read(self) -> Reading:
        """Now. What the system no longer reports is unknown."""
        faults = voluntary = involuntary = system = minor = delay = chars = storage = UNKNOWN
        cpu = process_time_ns()
        if resource is not None:
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            if hasattr(resource, "RUSAGE_THREAD"):
                thread = resource.getrusage(resource.RUSAGE_THREAD)
                voluntary, involuntary = thread.ru_nvcsw, thread.ru_nivcsw
                system, minor = round(thread.ru_stime * 1e9), thread.ru_minflt
        with contextlib.suppress(OSError, ValueError, IndexError):
            if self._schedstat is not None:  # on a core, waiting for one, time slices
                ran, waited, _ = map(int, os.pread(self._schedstat, 96, 0).split())
                delay = waited if ran else UNKNOWN  # zeros: a kernel that does not count
        with contextlib.suppress(OSError, ValueError, IndexError):
            if self._io is not None:  # rchar, wchar, syscr, syscw, read_bytes, each after its name
                words = os.pread(self._io, 256, 0).split()
                chars, storage = (int(words[1]), int(words[9])) if words[1] != b"0" else (UNKNOWN, UNKNOWN)
        return cpu, delay, voluntary, involuntary, chars, storage, faults, garbage.total_ns(), system, minor


def _of_each() -> Reading:
    return (process_time_ns(), *_BEFORE_GC, garbage.total_ns(), *_AFTER_GC)


def between(first: Reading, last: Reading) -> Reading:
    """What was added; `UNKNOWN` where one of the two is unknown."""
    return tuple(
        UNKNOWN if before < 0 or after < 0 else max(0, after - before)
        for before, after in zip(first, last, strict=True)
    )


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return None
