"""What the seventh group reads from: files of this machine's disk that the page cache does not keep.

What has been read is dropped from the page cache at once, so that the disk delivers it again the next time. Where
temporary files lie in memory (tmpfs), nothing can be dropped, and these pipelines read from memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.counterfactual_pipelines.street_kit import FOLDER, cached


def stored(name: str, make: Callable[[], bytes]) -> Path:
    """As `cached`, and on the disk: pages that are still to be written cannot be dropped."""
    is_new = not (FOLDER / name).exists()
    path = cached(name, make)
    if is_new:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            drop(file.fileno())
    return path


def drop(descriptor: int, offset: int = 0, length: int = 0) -> None:
    """From the page cache; a length of 0 reaches to the end."""
    os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_DONTNEED)


def read_whole(path: Path) -> bytes:
    """Its bytes, which the page cache does not keep."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, os.fstat(descriptor).st_size)
        drop(descriptor)
    finally:
        os.close(descriptor)
    return data
