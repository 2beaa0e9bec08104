"""What making a batch cost this process, by the system's counts: CPU time, time waiting for a CPU, switches, reads."""

from __future__ import annotations

import contextlib
import os
import threading
from time import perf_counter_ns
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

Right after a batch's work the caches are cold, and a reading takes 60 us instead of 3: too much for each batch.
"""

NOT_TOLD: Final = (UNKNOWN,) * len(COLUMNS)

Reading = tuple[int, ...]
"""Totals since the process began, nanoseconds for times, one for each of `COLUMNS`; `UNKNOWN` where not reported."""


class Meter:
    """Reads the totals of this process and the thread that makes it: four system calls, files kept open."""

    def __init__(self) -> None:
        garbage.start()  # first: where it fails, no file is open yet
        self._is_open = True
        self._pid: Final = os.getpid()
        self._schedstat = _open(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._io = _open("/proc/self/io")
        self._begun_at = perf_counter_ns() - EVERY_NS

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

    def begin(self) -> Reading | None:
        """The totals as a batch begins; None when it is not this one's turn."""
        now = perf_counter_ns()
        if now - self._begun_at < EVERY_NS:
            return None
        self._begun_at = now
        return self.read()

    def read(self) -> Reading:
        """Now. What the system no longer reports is unknown."""
        cpu = faults = voluntary = involuntary = system = minor = delay = chars = storage = UNKNOWN
        if resource is not None:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            cpu, faults = round((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_majflt
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
