"""Host metrics while a window is open: one source for each counter of `trace_format.COUNTERS`.

Linux's /proc and /sys by the standard library; files stay open. A source that cannot be read gives nothing.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol

from annotate.host.facts import cgroup_folders

Values = dict[str, float]
"""Series of a counter -> value."""

_SECTOR: Final = 512
"""Bytes; the unit of /proc/diskstats whatever the disk's own is."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_VIRTUAL_DISKS: Final = ("loop", "ram", "zram", "dm-", "md")
"""Block devices that hold no data of their own: it lies on others, which count it too."""


class Source(Protocol):
    counter: str
    looks_back: bool
    """Its values are those of the time since it was last read, and not of this moment."""

    def read(self, seconds: float) -> Values:
        """The series' values now, `seconds` after it was last read. The first reading of one that looks back is empty.

        Raises:
            OSError, ValueError, LookupError: the system does not report it.
        """


class ProcFile:
    """A file of /proc or /sys that stays open, read from its beginning each time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises: OSError."""
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> str:
        """Raises: OSError."""
        parts, at = [], 0
        while part := os.pread(self._file, 1 << 16, at):
            parts.append(part)
            at += len(part)
        return b"".join(parts).decode("ascii", "replace")

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


Totals = Mapping[tuple[str, object], float]
"""Series and part of it (a disk, a process) -> total so far."""


class PerSecond:
    """Rates of totals that only grow; parts that come or go meanwhile are left out."""

    looks_back = True

    def __init__(self, counter: str, totals: Callable[[], Totals], most: float | None = None) -> None:
        self.counter = counter
        self._totals = totals
        self._most = math.inf if most is None else most
        self._before: Totals = {}

    def read(self, seconds: float) -> Values:
        before, self._before = self._before, self._totals()
        rates: Values = {}
        for key, total in self._before.items():
            if key in before and seconds > 0:
                rate = rates.get(key[0], 0) + max(0.0, total - before[key]) / seconds
                rates[key[0]] = min(rate, self._most)
        return rates


class Cpu:
    """Percent busy of each core that the process may run on.

    Waiting for disks is idle; time that a hypervisor took is busy.
    """

    counter = "host::cpu"
    looks_back = True

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._before: dict[str, tuple[int, int]] = {}

    def read(self, seconds: float) -> Values:
        cores = os.sched_getaffinity(0)
        before, self._before = self._before, {}
        for line in self._text().splitlines():
            if not line.startswith("cpu"):
                break
            name, *ticks = line.split()
            if name[3:].isdigit() and int(name[3:]) in cores:
                # user nice system idle iowait irq softirq steal; what follows is in the first two
                numbers = [int(tick) for tick in ticks[:8]]
                self._before[f"core {name[3:]}"] = sum(numbers), numbers[3] + numbers[4]
        busy: Values = {}
        for core, (total, idle) in self._before.items():
            passed = total - before.get(core, (total, 0))[0]
            if passed > 0 and seconds > 0:
                busy[core] = min(100.0, max(0.0, 100 * (1 - (idle - before[core][1]) / passed)))
        return busy


class Memory:
    counter = "host::memory"
    looks_back = False

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    def read(self, seconds: float) -> Values:
        facts = dict(re.findall(r"^(\w+):\s+(\d+) kB", self._text(), re.MULTILINE))
        total, available = (int(facts[key]) * 1024 for key in ("MemTotal", "MemAvailable"))
        return {"used_bytes": total - available, "available_bytes": available}


class ProcessMemory:
    """Resident memory of this process, and of the others of the job together. One that is gone is left out."""

    counter = "host::processes"
    looks_back = False

    def __init__(self, pids: Callable[[], Iterable[int]], proc: Path) -> None:
        self._pids = pids
        self._proc = proc
        self._files: dict[int, ProcFile] = {}

    def read(self, seconds: float) -> Values:
        own = os.getpid()
        values = {"training_process_bytes": self._resident(own)}
        for pid in set(self._pids()) - {own}:
            try:
                resident = self._resident(pid)
            except (OSError, IndexError):
                self._files.pop(pid, None)
                continue
            values["workers_bytes"] = values.get("workers_bytes", 0) + resident
        return values

    def _resident(self, pid: int) -> float:
        """Raises: OSError, ValueError, LookupError."""
        if pid not in self._files:
            self._files[pid] = ProcFile(self._proc / f"{pid}/statm")
        return int(self._files[pid].read().split()[1]) * _PAGE


def host_sources(pids: Callable[[], Iterable[int]], root: Path = Path("/")) -> list[Source]:
    """What this system reports.

    Args:
        pids: the processes whose reads and memory are counted, looked up each time; this one among them.
    """
    made: list[Callable[[], Source]] = [
        lambda: Cpu(ProcFile(root / "proc/stat").read),
        lambda: _throttled(root / "sys/fs/cgroup"),
        lambda: Memory(ProcFile(root / "proc/meminfo").read),
        lambda: ProcessMemory(pids, root / "proc"),
        lambda: _disk(root),
        lambda: _disk_busy(root),
        lambda: _network(root),
        lambda: PerSecond("host::reads", _Reads(pids, root / "proc").totals),
    ]
    sources = []
    for make in made:
        try:
            source = make()
            source.read(0)
        except (OSError, ValueError, LookupError, AttributeError):
            continue
        sources.append(source)
    return sources


def _throttled(root: Path) -> PerSecond:
    """By the kernel of version 2 in microseconds, of version 1 in nanoseconds; of nested groups each has its own."""
    files = [ProcFile(folder / "cpu.stat") for folder in cgroup_folders(root) if (folder / "cpu.stat").is_file()]

    def totals() -> Totals:
        found: dict[tuple[str, object], float] = {}
        for number, file in enumerate(files):
            facts = dict(line.split() for line in file.read().splitlines())
            if "throttled_usec" in facts:
                found["us_per_s", number] = int(facts["throttled_usec"])
            elif "throttled_time" in facts:
                found["us_per_s", number] = int(facts["throttled_time"]) / 1000
        if not found:
            raise LookupError("no CPU quota here")
        return found

    return PerSecond("host::throttled", totals)


def _disk(root: Path) -> PerSecond:
    rows = _disk_rows(root)
    return PerSecond("host::disk", lambda: {("read_bytes_per_s", row[2]): int(row[5]) * _SECTOR for row in rows()})


def _disk_busy(root: Path) -> PerSecond:
    """Milliseconds with requests in flight, of each second."""
    rows = _disk_rows(root)
    return PerSecond("host::disk_busy", lambda: {(row[2], row[2]): int(row[12]) / 10 for row in rows()}, most=100)


def _disk_rows(root: Path) -> Callable[[], list[list[str]]]:
    """Reads the words of /proc/diskstats, a row for each disk."""
    disks = {disk.name for disk in (root / "sys/block").iterdir() if not disk.name.startswith(_VIRTUAL_DISKS)}
    file = ProcFile(root / "proc/diskstats")
    return lambda: [row for line in file.read().splitlines() if (row := line.split())[2] in disks]


def _network(root: Path) -> PerSecond:
    """Over all interfaces but the loopback."""
    file = ProcFile(root / "proc/net/dev")

    def totals() -> Totals:
        found: dict[tuple[str, object], float] = {}
        for line in file.read().splitlines()[2:]:
            name, _, numbers = line.partition(":")
            if name.strip() != "lo":
                words = numbers.split()
                found["received_bytes_per_s", name] = int(words[0])
                found["sent_bytes_per_s", name] = int(words[8])
        return found

    return PerSecond("host::network", totals)


class _Reads:
    """What processes read. One that is gone, or somebody else's, is left out."""

    def __init__(self, pids: Callable[[], Iterable[int]], proc: Path) -> None:
        self._pids = pids
        self._proc = proc
        self._files: dict[int, ProcFile] = {}

    def totals(self) -> Totals:
        found: dict[tuple[str, object], float] = {}
        for pid in set(self._pids()):
            try:
                if pid not in self._files:
                    self._files[pid] = ProcFile(self._proc / f"{pid}/io")
                facts = dict(re.findall(r"^(\w+): (\d+)", self._files[pid].read(), re.MULTILINE))
                found["rchar_per_s", pid] = int(facts["rchar"])
                found["read_bytes_per_s", pid] = int(facts["read_bytes"])
            except (OSError, KeyError):
                self._files.pop(pid, None)
        return found
