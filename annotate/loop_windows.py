"""How short windows of a loop are cut, and what is seen of its memory: the same for a loader alone and a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

SETTLING: Final = 4
"""Batches before the clock starts, and two more per DataLoader worker: queues are in their steady state by then."""

LEAST: Final = 8
"""Batches that the clock sees at least, and two for each DataLoader worker."""

LONGEST: Final = 4.0
"""A window that has fewer ends after so many times its length."""


def worker_bytes() -> float:
    """Memory of the largest process that this one has started, without what it shares; 0 where /proc does not say."""
    sizes = [_private(int(child)) for child in _children()]
    return max(sizes, default=0.0)


def _children() -> list[str]:
    try:
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:
        return []


def _private(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(1024.0 * int(line.split()[1]) for line in lines if line.startswith("Private_"))


def batch_bytes(batch: Any) -> float:
    """Of all tensors and arrays in it."""
    if (size := getattr(batch, "nbytes", None)) is not None:
        return float(size)
    if isinstance(batch, Mapping):
        return sum(map(batch_bytes, batch.values()))
    if isinstance(batch, Sequence) and not isinstance(batch, str):
        return float(len(batch)) if isinstance(batch, bytes) else sum(map(batch_bytes, batch))
    return 0.0
