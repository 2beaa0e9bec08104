"""Whether there is memory for a setting, before it is tried."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.tune.running import Facts, Window
from tb_dataplugin.tune.setting import PREFETCH, WORKERS, Changes, in_effect, number_of
from tb_dataplugin.units import data_size, plural

USABLE: Final = 0.8
"""Share of what is free that a setting may take."""

WORKER_BYTES: Final = 150e6
"""What a DataLoader worker is taken to need where none has been seen: Python and torch, without what is shared."""


@dataclass(frozen=True, slots=True)
class Free:
    """Bytes; None where the system does not say."""

    memory: float | None
    shm: float | None


def free_now(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup"), shm: Path = Path("/dev/shm")) -> Free:
    """Of the machine, or of the container's limit where that is less."""
    known = [size for size in (_available(proc / "meminfo"), _below_limit(cgroup)) if size is not None]
    try:
        disk = os.statvfs(shm)
        free = float(disk.f_bavail * disk.f_frsize)
    except OSError:
        return Free(min(known, default=None), None)
    return Free(min(known, default=None), free)


def _available(meminfo: Path) -> float | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _below_limit(cgroup: Path) -> float | None:
    try:
        return float((cgroup / "memory.max").read_text()) - float((cgroup / "memory.current").read_text())
    except (OSError, ValueError):  # no cgroup v2, or "max"
        return None


def refusal(changes: Changes, facts: Facts, seen: Window | None, free: Free) -> str:
    """Why a setting is not tried; "" where it can be. `seen`: the loop that needed most so far."""
    settings = in_effect(changes, facts.made)
    workers = number_of(settings, WORKERS)
    if not workers or seen is None:
        return ""
    ahead = seen.batch_bytes * (workers * number_of(settings, PREFETCH) + 1)
    each = seen.worker_bytes or WORKER_BYTES
    needed = {
        f"{plural(workers, 'DataLoader worker')} and batches ahead need about": (ahead + workers * each, free.memory),
        "batches ahead need about": (ahead, free.shm),
    }
    for (text, (need, there)), where in zip(needed.items(), ("memory", "/dev/shm"), strict=True):
        if there is not None and need > USABLE * there:
            return f"{text} {data_size(need)} of {where}, and {data_size(there)} are free"
    return ""
