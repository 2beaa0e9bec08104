"""How short windows of a loop are cut, and what is seen of its memory: the same for a loader alone and a program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

SETTLING: Final = 4
"""Batches before the clock starts, and two more per DataLoader worker: queues are in their steady state by then."""

LEAST: Final = 8
"""Batches that the clock sees at least, and two for each DataLoader worker."""

LONGEST: Final = 4.0
"""A window that has fewer ends after so many times its length."""

LOOKED_AT: Final = 4096
"""Elements of a tensor by which batches are compared."""


class Delivered:
    """What so many DataLoader workers of an iterable dataset deliver; none of one that has indices: it is divided."""

    def __init__(self, workers: int = 0) -> None:
        self._workers = workers
        self._first: list[object] = []
        """Of the first pass: two batches of each worker, as they take turns."""
        self._count = self._longest = 0

    def saw(self, batch: Any) -> None:
        self._count += 1
        if self._workers > 1 and len(self._first) < 2 * self._workers:
            seen: object = None
            with suppress(Exception):  # a tensor that has no elements to look at
                seen = tuple(_looked_at(batch))
            self._first.append(seen)

    def ended(self) -> None:
        """A pass."""
        self._longest, self._count = max(self._longest, self._count), 0

    def broken_off(self) -> None:
        self._count = 0

    def facts(self) -> dict[str, float]:
        """`passed`: batches of the longest whole pass; `same`: each worker's first two batches are those of the others,
        and not each other's.
        """
        mine, other = self._first[: self._workers], self._first[self._workers :]
        is_whole = self._workers > 1 and len(other) == self._workers and all(self._first)
        same = is_whole and mine[0] != other[0] and all(len(set(side)) == 1 for side in (mine, other))
        return {"passed": self._longest, "same": same}


def _looked_at(batch: Any) -> Iterator[object]:
    """Of torch's and numpy's arrays, and Python's own types: asking any other object may run the user's code."""
    if type(batch).__module__ in ("torch", "numpy") and hasattr(batch, "reshape"):
        flat = batch.reshape(-1)
        yield (*batch.shape, *flat[:: max(1, len(flat) // LOOKED_AT)].tolist())
    elif type(batch) in (list, tuple):
        for part in batch:
            yield from _looked_at(part)
    elif type(batch) is dict:
        for part in batch.values():
            yield from _looked_at(part)
    elif type(batch) in (str, bytes, int, float):
        yield batch


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
