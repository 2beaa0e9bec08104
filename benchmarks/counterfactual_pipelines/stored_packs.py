"""The seventh group, large files: records at random offsets, rows of a mapped table, shards from end to end.

None of it stays in the page cache. Written without a look at the model of `whatif`, at its documentation or at any
prediction.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.stored_kit import drop, stored
from benchmarks.counterfactual_pipelines.street_kit import Endless, Real

RECORDS: Final = 160


class Excerpt(Real):
    """A part of the recording, both channels mixed."""

    def once(self, recording: Any) -> Any:
        first = random.randrange(len(recording) - 60000)
        left, right = recording[first : first + 60000].T
        return (left.astype(np.float32) + right) / 65536


class Loudness(Real):
    """The same power in all parts of a tenth of a second."""

    def once(self, values: Any) -> Any:
        parts = values[:59904].reshape(-1, 1152)
        power = np.sqrt((parts * parts).mean(axis=1, keepdims=True)) + 1e-4
        return torch.from_numpy(np.tanh(parts / power))


class Packed(Endless):
    """Recordings of 0.4 to 1.6 MB in one file, at the offsets that an index has."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.path, self.index = _packed()
        self.descriptor = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        self.kept = os.pread(self.descriptor, 1_000_000, 0)
        drop(self.descriptor)

    def __getitem__(self, i: int) -> Any:
        offset, length = self.index[i * 61 % RECORDS]
        return self.transform(np.frombuffer(self._record(offset, length), np.int16).reshape(-1, 2)), i % 10

    def _record(self, offset: int, length: int) -> bytes:
        if "read::pack" in self.removed:
            return self.kept
        with annotate.stage("read", "pack"):
            data = os.pread(self.descriptor, length, offset)
            drop(self.descriptor, offset, length)
        return data


@cache
def _packed() -> tuple[Path, list[tuple[int, int]]]:
    lengths = np.random.default_rng(4).integers(100_000, 400_000, RECORDS) * 4
    offsets = np.cumsum(lengths) - lengths
    path = stored("packed.bin", lambda: np.random.default_rng(5).bytes(int(lengths.sum())))
    return path, list(zip(offsets.tolist(), lengths.tolist(), strict=True))


def _packs(removed: Removed) -> Loop:
    dataset = Packed(chain(removed, Excerpt(4), Loudness(2)), removed)
    return Loop(loading(removed, dataset, batch_size=8, num_workers=1, prefetch_factor=3), 9)


ROWS: Final = 50_000
WIDTH: Final = 512


class Attention(Real):
    """Each of the rows by how alike it is to the last one."""

    def once(self, rows: Any) -> Any:
        scores = rows @ rows[-1] / WIDTH**0.5
        weights = np.exp(scores - scores.max())
        return rows * (weights / weights.sum())[:, None]


class Discretise(Real):
    def once(self, rows: Any) -> Any:
        return torch.from_numpy(np.digitize(rows, np.linspace(-0.02, 0.02, 15)))


class Mapped(Endless):
    """Rows of a table of floats in a file that is mapped: each of 40 that a sample needs lies on a page of its own."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        path = stored(
            "table.f32", lambda: np.random.default_rng(6).standard_normal((ROWS, WIDTH), np.float32).tobytes()
        )
        self.descriptor = os.open(path, os.O_RDONLY)
        self.pages = mmap.mmap(self.descriptor, 0, prot=mmap.PROT_READ)
        self.pages.madvise(mmap.MADV_RANDOM)
        self.table = np.frombuffer(self.pages, np.float32).reshape(ROWS, WIDTH)
        self.kept = np.array(self.table[:40])

    def __getitem__(self, i: int) -> Any:
        return self.transform(self._history(np.random.default_rng(i).integers(0, ROWS, 40)))

    def _history(self, rows: Any) -> Any:
        if "read::table" in self.removed:
            return self.kept
        with annotate.stage("read", "table"):
            history = self.table[rows]
            self.pages.madvise(mmap.MADV_DONTNEED)  # pages that are mapped stay in the cache
            drop(self.descriptor)
        return history


def _mapped(removed: Removed) -> Loop:
    dataset = Mapped(chain(removed, Attention(16), Discretise(2)), removed)
    return Loop(loading(removed, dataset, batch_size=4, num_workers=0), 12)


SHARDS: Final = 4
PICTURE: Final = 512
RECORD: Final = PICTURE * PICTURE * 3
"""Bytes: a multiple of the disk's blocks, which reading past the page cache needs."""


class Quarter(Real):
    """Each pixel the mean of two that lie apart."""

    def once(self, picture: Any) -> Any:
        return ((picture[::4, ::4].astype(np.uint16) + picture[2::4, 2::4]) // 2).astype(np.uint8)


class Standardise(Real):
    """Numbers of no mean and unit variance, from each picture's own."""

    def once(self, picture: Any) -> Any:
        values = picture.astype(np.float32)
        return torch.from_numpy((values - values.mean()) / values.std())


class Shards(IterableDataset[Any]):
    """Raw pictures in shards that are read from end to end, past the page cache (O_DIRECT), which would read ahead.

    Each DataLoader worker begins with another shard.
    """

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        self.shards = [stored(f"shards/{k}.raw", lambda k=k: _shard(k)) for k in range(SHARDS)]  # type: ignore[misc]

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number, buffer = worker.id if worker else 0, mmap.mmap(-1, RECORD)
        buffer.write(np.random.default_rng(0).bytes(RECORD))
        while True:
            for _ in self._read_each(self.shards[number % SHARDS], buffer):
                yield self.transform(np.frombuffer(buffer, np.uint8).reshape(PICTURE, PICTURE, 3))
            number += worker.num_workers if worker else 1

    def _read_each(self, path: Path, buffer: mmap.mmap) -> Iterator[None]:
        if "read::shard" in self.removed:
            yield
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            for _ in range(os.fstat(descriptor).st_size // RECORD):
                with annotate.stage("read", "shard"):
                    os.readv(descriptor, [buffer])
                yield
        finally:
            os.close(descriptor)


def _shard(number: int) -> bytes:
    return np.random.default_rng(number).bytes(40 * RECORD)


def _shards(removed: Removed) -> Loop:
    dataset = Shards(chain(removed, Quarter(2), Standardise(2)), removed)
    return Loop(loading(removed, dataset, batch_size=12, num_workers=2, prefetch_factor=2), 5)


PIPELINES: Final = (
    Pipeline("packed_1", "seventh", ("read::pack", "transform::Excerpt", "transform::Loudness"), _packs),
    Pipeline(
        "mapped_0",
        "seventh",
        ("read::table", "transform::Attention", "transform::Discretise"),
        _mapped,
    ),
    Pipeline("cold_shards_2", "seventh", ("read::shard", "transform::Quarter", "transform::Standardise"), _shards),
)
