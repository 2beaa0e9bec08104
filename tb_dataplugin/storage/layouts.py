"""The same samples in other forms: one archive, one array, one database. Each form reads a sample by its number."""

from __future__ import annotations

import os
import sqlite3
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

import numpy as np

from tb_dataplugin.storage.samples import Sample, Samples

FILES: Final = "files"
TAR: Final = "archive (tar)"
ARRAY: Final = "memory-mapped array"
DATABASE: Final = "database (sqlite)"


class Reader(Protocol):
    """An open form of the samples; what it returns is the sample's length."""

    def __enter__(self) -> Callable[[int], int]: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Layout:
    """`paths`: the files that hold it; `count`: samples in it."""

    name: str
    paths: tuple[Path, ...]
    open: Callable[[], Reader]
    count: int


@dataclass(slots=True)
class _Files:
    samples: tuple[Sample, ...]

    def __enter__(self) -> Callable[[int], int]:
        return self._read

    def __exit__(self, *_: object) -> None:
        pass

    def _read(self, number: int) -> int:
        with self.samples[number].path.open("rb", buffering=0) as file:
            return len(file.readall())


@dataclass(slots=True)
class _Packed:
    """A file with the samples at known places."""

    path: Path
    places: tuple[tuple[int, int], ...]
    handle: int = -1

    def __enter__(self) -> Callable[[int], int]:
        self.handle = os.open(self.path, os.O_RDONLY)
        return self._read

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)

    def _read(self, number: int) -> int:
        offset, size = self.places[number]
        return len(os.pread(self.handle, size, offset))


@dataclass(slots=True)
class _Array:
    path: Path
    places: tuple[tuple[int, int], ...]
    array: Any = None

    def __enter__(self) -> Callable[[int], int]:
        self.array = np.load(self.path, mmap_mode="r")
        return self._read

    def __exit__(self, *_: object) -> None:
        self.array = None  # a file that is mapped stays in the page cache

    def _read(self, number: int) -> int:
        offset, size = self.places[number]
        return len(self.array[offset : offset + size].tobytes())


@dataclass(slots=True)
class _Database:
    path: Path
    connection: sqlite3.Connection | None = None

    def __enter__(self) -> Callable[[int], int]:
        self.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, isolation_level=None)
        self.connection.execute("BEGIN")  # else each read asks first whether the file has changed
        return self._read

    def __exit__(self, *_: object) -> None:
        if self.connection is not None:
            self.connection.close()

    def _read(self, number: int) -> int:
        assert self.connection is not None
        (value,) = self.connection.execute("SELECT value FROM samples WHERE number = ?", (number,)).fetchone()
        return len(value)


def files(samples: Samples) -> Layout:
    """As they are."""
    chosen = samples.chosen
    return Layout(FILES, tuple(sample.path for sample in chosen), lambda: _Files(chosen), len(chosen))


def packed(samples: Samples, folder: Path) -> list[Layout]:
    """Written into `folder`: as many bytes as the samples have, three times. Raises OSError."""
    return [_tar(samples, folder), _array(samples, folder), _database(samples, folder)]


def _tar(samples: Samples, folder: Path) -> Layout:
    path = folder / "samples.tar"
    with tarfile.open(path, "w") as archive:
        for number, sample in enumerate(samples.chosen):
            archive.add(sample.path.resolve(), arcname=f"{number}", recursive=False)
    with tarfile.open(path) as archive:
        places = tuple((member.offset_data, member.size) for member in archive)
    return Layout(TAR, (path,), lambda: _Packed(path, places), len(places))


def _array(samples: Samples, folder: Path) -> Layout:
    path = folder / "samples.npy"
    places: list[tuple[int, int]] = []
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(samples.chosen_size,))
    offset = 0
    for sample in samples.chosen:
        content = sample.path.read_bytes()[: sample.size]
        array[offset : offset + len(content)] = np.frombuffer(content, np.uint8)
        places.append((offset, len(content)))
        offset += len(content)
    array.flush()
    fixed = tuple(places)
    return Layout(ARRAY, (path,), lambda: _Array(path, fixed), len(fixed))


def _database(samples: Samples, folder: Path) -> Layout:
    path = folder / "samples.sqlite"
    connection = sqlite3.connect(path)
    try:
        with connection:
            connection.execute("CREATE TABLE samples (number INTEGER PRIMARY KEY, value BLOB)")
            rows = ((number, sample.path.read_bytes()) for number, sample in enumerate(samples.chosen))
            connection.executemany("INSERT INTO samples VALUES (?, ?)", rows)
    finally:
        connection.close()
    return Layout(DATABASE, (path,), lambda: _Database(path), len(samples.chosen))
