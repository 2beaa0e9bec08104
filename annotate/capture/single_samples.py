"""Single samples, loaded again: in which order, how often, and what is written down of it.

Each is loaded until `SECONDS` have passed: the first load finds whatever is cached and is not counted, the ones after
it are warm, and before the last its files are removed from the page cache. Whether that helped is seen by what the
process then reads from storage. After them usual samples are loaded, which says what a sample takes alone that nobody
calls slow.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, NamedTuple

from annotate.recording import switch
from annotate.saying import in_short
from annotate.trace_format import PipelineMetadata

SECONDS: Final = 1.2
"""For each sample: at 10 ms per sample of its stack, enough for more than 100 of them."""
LEAST: Final = 5
MOST: Final = 200
"""Loads of each sample, the first and the cold one included."""
USUAL: Final = 10
"""Usual samples, at most, of which half take less than the one that counts."""
USUAL_LOADS: Final = 3
USUAL_SECONDS: Final = 2.4
"""For all of them; one that has begun is loaded to its end."""
_STORAGE: Final = b"read_bytes:"


class Captured(NamedTuple):
    """What the capture that a sample was named from says of it. None, "": not known."""

    duration_us: float | None = None
    typical_us: float | None = None
    """The median over that capture's samples."""
    read_us: float | None = None
    """Self time in reading files, where that is the stage with most of it."""
    storage_share: float | None = None
    """Of the bytes that reads returned to its batch, what came from storage; where that was not measured, the part of
    the sample in which its reads were blocked."""
    line: str = ""
    """That most of its sampled stacks were at."""
    stage: str = ""
    """That had most of its time."""
    differs: Sequence[str] = ()
    """Settings of that capture's DataLoader that the replayed one doesn't have."""


@dataclass(slots=True)
class Loads:
    """What was done for one sample."""

    index: int
    captured: Captured
    files: list[str] = field(default_factory=list)
    is_cold: bool = False
    """Its last load read from storage."""


class SampleLoads:
    """Draws indices, one load each, in place of a loader's batch sampler: the next is drawn when a load has ended."""

    def __init__(self, samples: Sequence[tuple[int, Captured]], usual: Sequence[int] = (), *, in_batches: bool) -> None:
        """
        Args:
            samples: dataset indices, each with what its capture says of it.
            usual: dataset indices of samples to compare them with.
            in_batches: draw lists of one index.
        """
        self.done: Final[list[Loads]] = []
        self._samples = samples
        self._usual = usual[:USUAL]
        self._compared: list[int] = []
        self._in_batches = in_batches

    def __len__(self) -> int:
        """The most loads that there may be."""
        return MOST * len(self._samples) + USUAL_LOADS * len(self._usual)

    def __iter__(self) -> Iterator[Any]:
        for index, captured in self._samples:
            loads = Loads(index, captured)
            drawn = self._drawn(index)
            begun, count = perf_counter(), 0
            while count < LEAST - 1 or (count < MOST - 1 and perf_counter() - begun < SECONDS):
                yield drawn
                count += 1
                if count == 1:
                    loads.files = _files()
            evict(loads.files)
            before = read_from_storage()
            yield drawn
            loads.is_cold = read_from_storage() > before >= 0
            self.done.append(loads)
        begun = perf_counter()
        for index in self._usual:
            if perf_counter() - begun >= USUAL_SECONDS:
                break
            for _ in range(USUAL_LOADS):
                yield self._drawn(index)
            self._compared.append(index)

    def _drawn(self, index: int) -> Any:
        return [index] if self._in_batches else index

    @property
    def reached(self) -> tuple[int, int]:
        """How many samples are done, of how many."""
        return len(self.done), len(self._samples)

    def record(self) -> PipelineMetadata:
        """What the trace says of them."""
        return {
            "replayed": {
                "index": [loads.index for loads in self.done],
                "captured_us": [loads.captured.duration_us for loads in self.done],
                "typical_us": [loads.captured.typical_us for loads in self.done],
                "read_us": [loads.captured.read_us for loads in self.done],
                "storage_share": [loads.captured.storage_share for loads in self.done],
                "line": [loads.captured.line for loads in self.done],
                "stage": [loads.captured.stage for loads in self.done],
                "differs": [list(loads.captured.differs) for loads in self.done],
                "cold": [loads.is_cold for loads in self.done],
                "files": [loads.files for loads in self.done],
            },
            "replayed_usual": self._compared,
        }


def check_indices(indices: Collection[Any], dataset: Any) -> None:
    """Raises TypeError for what is no whole number; ValueError for none, or where the dataset has no such sample."""
    for index in indices:
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f"annotate.replay(indices=...) takes whole numbers, not {in_short(index)}")
    if not indices:
        raise ValueError("annotate.replay: indices is empty")
    length = _length(dataset)
    if length is not None and (beyond := [index for index in indices if not -length <= index < length]):
        raise ValueError(
            f"annotate.replay: the dataset has {length} samples, and no index {beyond[0]}. Is it that run's dataset?"
        )


def to_compare(usual: Iterable[int], named: Collection[int], dataset: Any) -> list[int]:
    """Those that the dataset has, without the named ones."""
    length = _length(dataset)
    return [index for index in usual if index not in named and (length is None or index < length)]


def _length(dataset: Any) -> int | None:
    return len(dataset) if hasattr(type(dataset), "__len__") else None


def _files() -> list[str]:
    """That the sample which was loaded last has opened."""
    with contextlib.suppress(Exception):  # the __fspath__ of a class of the user's
        return list(dict.fromkeys(map(os.fsdecode, switch.thread.open.files)))
    return []


def evict(files: Iterable[str]) -> None:
    """Remove files from the page cache, as far as the system does that when it is asked to."""
    for path in files:
        with contextlib.suppress(OSError, AttributeError, ValueError):
            number = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(number)


def read_from_storage() -> int:
    """Bytes that this process has read from storage so far; -1: unknown."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/io", "rb") as file:
        for line in file:
            if line.startswith(_STORAGE):
                return int(line[len(_STORAGE) :])
    return -1
