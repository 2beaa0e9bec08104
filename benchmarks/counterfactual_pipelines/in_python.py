"""Pipelines whose DataLoader workers hold the interpreter's lock, read cold blocks of a disk, or unpack records.

All of them are for tuning: they are of the kinds that the model was wrong about in the judged group.
"""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import Dataset

import annotate
from benchmarks.counterfactual_pipelines.kit import (
    Blur,
    Jitter,
    Loop,
    Normalise,
    Pictures,
    Pipeline,
    Removed,
    Work,
    chain,
    loading,
)

TEXT: Final = "The quick brown fox jumps over the lazy dog; " * 4000
BLOCK: Final = 1 << 17
BLOCKS: Final = 256


class Counting(Work):
    """A loop of Python's own over `ms` thousand characters: the same work, however long it takes."""

    def __call__(self, x: Any) -> Any:
        counts: dict[str, int] = {}
        for letter in TEXT[: int(1000 * self.ms)]:
            counts[letter] = counts.get(letter, 0) + 1
        return x


class Parse(Counting):
    pass


class Encode(Counting):
    pass


class Fields(Dataset[Any]):
    """Samples of several small tensors: each has a file descriptor of its own to hand over."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        fields = {"image": torch.full((3, 32, 32), float(i % 7)), "mask": torch.ones(32, 32)}
        return self.transform({**fields, "box": torch.ones(4), "label": i % 10})


def _parse_1(removed: Removed) -> Loop:
    return Loop(loading(removed, Pictures(chain(removed, Parse(14), Encode(26))), num_workers=1), 5)


def _parse_2(removed: Removed) -> Loop:
    return Loop(loading(removed, Pictures(chain(removed, Parse(30), Encode(12))), num_workers=2), 3)


def _parse_0(removed: Removed) -> Loop:
    return Loop(loading(removed, Pictures(chain(removed, Parse(10), Encode(6)))), 7)


def _fields_1(removed: Removed) -> Loop:
    return Loop(loading(removed, Fields(chain(removed, Parse(8), Encode(18))), num_workers=1), 8)


def _partly_1(removed: Removed) -> Loop:
    """One stage with the interpreter's lock, one without, one asleep."""
    transform = chain(removed, Parse(18), Blur(0.8), Normalise(0.5, "sleep"))
    return Loop(loading(removed, Pictures(transform), num_workers=1), 4)


def _seldom_1(removed: Removed) -> Loop:
    """The training step limits."""
    return Loop(loading(removed, Pictures(chain(removed, Parse(12), Encode(4))), num_workers=1), 16)


class Blocks(Dataset[Any]):
    """Compressed blocks of one file. `is_cold`: read past the page cache."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed, is_cold: bool) -> None:
        self.transform, self.is_cold = transform, is_cold
        self.reads, self.unpacks = "read::blocks" not in removed, "decode::zlib" not in removed
        values = np.random.default_rng(0).integers(0, 60, BLOCK, dtype=np.uint8)
        self.packed, self.values = zlib.compress(values.tobytes(), 1), values
        self.size = -(-len(self.packed) // 4096) * 4096
        self.handle, name = tempfile.mkstemp()
        weakref.finalize(self, os.close, self.handle)
        Path(name).unlink()
        os.write(self.handle, self.packed.ljust(self.size, b"\0") * BLOCKS)
        os.fsync(self.handle)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        packed, values, place = self.packed, self.values, (i * 61 % BLOCKS) * self.size
        if self.reads:
            with annotate.stage("read", "blocks"):
                if self.is_cold:
                    os.posix_fadvise(self.handle, place, self.size, os.POSIX_FADV_DONTNEED)
                packed = os.pread(self.handle, len(packed), place)
        if self.unpacks:
            with annotate.stage("decode", "zlib"):
                values = np.frombuffer(zlib.decompress(packed), np.uint8)
        return self.transform(torch.from_numpy(values.astype(np.float32)))


def _cold_1(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Jitter(0.3)), removed, is_cold=True), num_workers=1), 3)


def _cold_2(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Encode(5)), removed, is_cold=True), num_workers=2), 4)


def _unpack_1(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Jitter(0.4)), removed, is_cold=False), num_workers=1), 5)


def _unpack_2(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Blur(0.5)), removed, is_cold=False), num_workers=2), 3)


def _unpack_0(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Blur(0.6)), removed, is_cold=False)), 4)


LOOPS: Final = ("transform::Parse", "transform::Encode")
UNPACKING: Final = ("read::blocks", "decode::zlib")
PIPELINES: Final = (
    Pipeline("parse_1", "tune", (*LOOPS, "transfer"), _parse_1),
    Pipeline("parse_2", "tune", (*LOOPS, "transfer"), _parse_2),
    Pipeline("parse_0", "tune", LOOPS, _parse_0),
    Pipeline("fields_1", "tune", (*LOOPS, "transfer"), _fields_1),
    Pipeline(
        "partly_1", "tune", ("transform::Parse", "transform::Blur", "transform::Normalise", "transfer"), _partly_1
    ),
    Pipeline("seldom_1", "tune", (*LOOPS, "transfer"), _seldom_1),
    Pipeline("cold_1", "tune", (*UNPACKING, "transform::Jitter", "transfer"), _cold_1),
    Pipeline("cold_2", "tune", (*UNPACKING, "transform::Encode", "transfer"), _cold_2),
    Pipeline("unpack_1", "tune", (*UNPACKING, "transform::Jitter", "transfer"), _unpack_1),
    Pipeline("unpack_2", "tune", (*UNPACKING, "transform::Blur", "transfer"), _unpack_2),
    Pipeline("unpack_0", "tune", (*UNPACKING, "transform::Blur"), _unpack_0),
)
