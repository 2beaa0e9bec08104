"""What a replay says of the samples that it was asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replayed:
    """A sample that was named to be loaded again; `is_cold`: its last load read from storage.

    Of the capture that it was named from: `captured_ns` it took, `read_ns` of it in reading files where that took most;
    `typical_ns` is the median sample, `storage_share` of what its batch read came from storage,
    `line` where most of its stacks were, `stage` the one with most of its time; `differs`: settings of its DataLoader
    that the replayed one doesn't have. None, "": not known.
    """

    index: int
    captured_ns: int | None
    is_cold: bool
    files: tuple[str, ...]
    typical_ns: int | None = None
    read_ns: int | None = None
    storage_share: float | None = None
    line: str = ""
    stage: str = ""
    differs: tuple[str, ...] = ()
