"""CPU time of child processes while a window is open: DataLoader workers, followed or not, and programs that the loop
calls. The load of the machine has it, and no counter of the training process does.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import Final

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MOST: Final = 1000
"""Processes that are looked at."""

LOADER_WORKER: Final = b"pt_data_worker"
"""What torch calls the main thread of a DataLoader worker; older versions have no name for it."""

_TIMES, _BEGUN = slice(11, 15), 19
"""Places in /proc/PID/stat after the name: CPU time of the process and of its ended children; its start."""

Key = tuple[int, int]
"""A process and its start: numbers are used again."""


@dataclass(frozen=True)
class Children:
    """`ended_ns`: CPU time of all children that ended so far. `alive_ns`: of each that lives, with its own children.
    `loader_workers`: those of all that live, and of theirs, which are DataLoader workers; not what these started.
    """

    ended_ns: int
    alive_ns: dict[Key, int] = field(default_factory=dict)
    loader_workers: tuple[int, ...] = ()


def read_children() -> Children | None:
    """Those of this process. None where the system does not tell."""
    if resource is not None:
        with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
            loader_workers: list[int] = []
            alive = dict(_tree(pid, loader_workers) for pid in _children_of(os.getpid()))
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            ended_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
            return Children(ended_ns, alive, tuple(loader_workers))
    return None


def passing_ns(before: Children, after: Children) -> int:
    """CPU time, between the two, of children that were not there at both. One that ended has all of its time in
    `ended_ns`.
    """
    gone = sum(time for key, time in before.alive_ns.items() if key not in after.alive_ns)
    new = sum(time for key, time in after.alive_ns.items() if key not in before.alive_ns)
    return max(0, after.ended_ns - before.ended_ns - gone + new)


def lasting_ns(before: Children, after: Children) -> int:
    """CPU time, between the two, of children that were there at both."""
    spent = (time - before.alive_ns[key] for key, time in after.alive_ns.items() if key in before.alive_ns)
    return sum(max(0, each) for each in spent)


def _tree(root: int, loader_workers: list[int]) -> tuple[Key, int]:
    begun, spent, seen = 0, 0.0, 0
    waiting = [(root, False)]  # and whether a DataLoader worker started it, whose name it then has
    while waiting and seen < MOST:
        pid, is_below = waiting.pop()
        seen += 1
        try:
            name, _, rest = _read(f"/proc/{pid}/stat").rpartition(b")")
            words, is_worker = rest.split(), name.partition(b"(")[2] == LOADER_WORKER
            spent += sum(map(int, words[_TIMES])) / os.sysconf("SC_CLK_TCK")
            begun = int(words[_BEGUN]) if pid == root else begun
            if is_worker and not is_below:
                loader_workers.append(pid)
            waiting += [(child, is_below or is_worker) for child in _children_of(pid)]
        except OSError:  # ended meanwhile
            continue
    return (root, begun), round(spent * 1e9)


def _children_of(pid: int) -> list[int]:
    """Raises: OSError."""
    found: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as `os.open`, no object per file
        try:
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
        except OSError:
            if thread == str(pid):  # else the thread ended meanwhile
                raise
    return found


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(file, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)
