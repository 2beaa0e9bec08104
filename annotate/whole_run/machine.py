"""What the machine and the processes of a run do meanwhile, read once in each interval by the recorder's own thread."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from time import thread_time_ns
from typing import Final

from annotate.host import garbage
from annotate.host.nvml import DeviceSource, Nvml
from annotate.host.sampler import Sample, take
from annotate.host.sources import Source, host_sources

_MEANS: Final = {"host::cpu": "cpu_percent", "device::utilisation": "device_percent"}
"""Counter -> its name in the file, as the mean of its series."""
_TOTALS: Final = {"host::reads": "", "device::memory": "device_memory_bytes"}
"""Counter -> its name in the file, as the sum of its series; empty: each series by its own name."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

_PSS_NS, _PSS_SHARE = 60_000_000_000, 0.0002
"""From one reading of PSS to the next, and the most of one CPU's time that it may take: the kernel walks through all
pages of a process for it, some milliseconds."""


class Machine:
    """Read from one thread."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        """
        Args:
            pids: the DataLoader workers, looked up each time.
        """
        self._pids = pids
        self._hooks: Final = ExitStack()
        self._sources: list[Source] = []
        self._before = 0
        self._collected = 0
        self._pss_due = 0

    def open(self) -> None:
        """Whatever the system does not report is left out."""
        garbage.start()
        self._hooks.callback(garbage.stop)
        wanted = {*_MEANS, *_TOTALS}
        self._sources = [source for source in host_sources(self._all_pids) if source.counter in wanted]
        with contextlib.suppress(OSError, AttributeError):
            nvml = Nvml()
            self._hooks.callback(nvml.close)
            self._sources.append(DeviceSource("device::utilisation", nvml.utilisation))
            self._sources.append(DeviceSource("device::memory", nvml.memory))

    def close(self) -> None:
        """Harmless when it is not open."""
        self._sources = []
        self._hooks.close()

    def read(self, now: int) -> dict[str, float]:
        """By name; rates are per second since the last reading (`now`: perf_counter_ns)."""
        samples: list[Sample] = []
        take(self._sources, samples, self._before or now, now)
        found: dict[str, float] = {}
        for sample in samples:
            values = sample.values
            if sample.counter in _MEANS:
                found[_MEANS[sample.counter]] = round(sum(values.values()) / len(values), 1)
            elif _TOTALS[sample.counter]:
                found[_TOTALS[sample.counter]] = round(sum(values.values()))
            else:
                found.update({name: round(value) for name, value in values.items()})
        collected = garbage.total_ns()
        if self._before:
            found["gc_share"] = round((collected - self._collected) / max(1, now - self._before), 5)
        self._before, self._collected = now, collected
        return {**found, **self.memory(now)}

    def memory(self, now: int) -> dict[str, float]:
        """Bytes: of this process, of all its workers together (pages that they share count once each), of /dev/shm.

        Now and then also PSS: of all of them, where a page that n processes share counts as 1/n in each.
        """
        found: dict[str, float] = {}
        own = resident_bytes(os.getpid())
        if own is not None:
            found["rss_bytes"] = own
        workers = [size for pid in self._pids() if (size := resident_bytes(pid)) is not None]
        if workers:
            found["workers_rss_bytes"] = sum(workers)
            found["workers"] = len(workers)
        if now >= self._pss_due:
            begin = thread_time_ns()
            shares = [share for pid in self._all_pids() if (share := proportional_bytes(pid)) is not None]
            if shares:
                found["pss_bytes"] = sum(shares)
            self._pss_due = now + max(_PSS_NS, round((thread_time_ns() - begin) / _PSS_SHARE))
        with contextlib.suppress(OSError, AttributeError):
            shm = os.statvfs("/dev/shm")
            found["shm_bytes"] = (shm.f_blocks - shm.f_bfree) * shm.f_frsize
        return found

    def _all_pids(self) -> list[int]:
        return [os.getpid(), *self._pids()]


def resident_bytes(pid: int) -> int | None:
    """None: it is gone, or the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None


def proportional_bytes(pid: int) -> int | None:
    """PSS; None: it is gone, another user's, or the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)
    except (OSError, ValueError, IndexError):
        return None
