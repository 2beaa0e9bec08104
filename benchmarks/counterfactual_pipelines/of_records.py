"""Pipelines of text, objects, packed arrays, a disk and a store over the network. All of them are for judging."""

from __future__ import annotations

import io
import os
import random
import re
import tempfile
import weakref
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import Dataset

import annotate
from benchmarks.counterfactual_pipelines.kit import (
    Jitter,
    Loop,
    Normalise,
    Pictures,
    Pipeline,
    Removed,
    Rescale,
    chain,
    loading,
    varied,
    work,
)

WORDS: Final = re.compile(r"[a-z]+|\d+|[^\sa-z\d]")
BLOCK: Final = 1 << 19
BLOCKS: Final = 96


class Tokenise:
    """Text to numbers, by an expression and a dictionary; taken away, it gives those of its first text."""

    def __init__(self, is_away: bool) -> None:
        self.is_away, self.first = is_away, torch.zeros(256, dtype=torch.int64)
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> torch.Tensor:
        if self.is_away:
            return self.first
        numbers = [self.numbers.setdefault(word, len(self.numbers)) for word in WORDS.findall(text.lower())]
        return torch.tensor((numbers + [0] * 256)[:256])


class Texts(Dataset[Any]):
    def __init__(self, transform: Any, words: int) -> None:
        pick = random.Random(0)
        self.texts = [" ".join(f"word{pick.randrange(5000)}," for _ in range(words)) for _ in range(64)]
        self.transform = transform

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.texts[i % len(self.texts)])


def _text(removed: Removed, workers: int) -> Loop:
    dataset = Texts(Tokenise("transform::Tokenise" in removed), int(varied(2500, "Texts")))
    return Loop(loading(removed, dataset, num_workers=workers), 4)


class Records(Dataset[Any]):
    """Nested dictionaries, pickled as a whole."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return self.transform(
            [{"name": f"n{i}-{k}", "box": (k, i, 0.5 * k), "tags": ["a", str(k)]} for k in range(250)]
        )


def _as_is(samples: list[Any]) -> list[Any]:
    return samples


def _records(removed: Removed) -> Loop:
    return Loop(loading(removed, Records(chain(removed, Normalise(0.8))), _as_is, num_workers=2), 5)


class Packed(Dataset[Any]):
    """Compressed arrays; taken away, unpacking gives the array that is in them."""

    def __init__(self, transform: Any, unpacks: bool) -> None:
        array = (np.arange(30000) % 251).astype(np.float32)
        stream = io.BytesIO()
        np.savez_compressed(stream, a=array)
        self.transform, self.data, self.array = transform, stream.getvalue(), None if unpacks else array

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        if self.array is not None:
            return self.transform(self.array)
        with annotate.stage("decode", "npz"):
            return self.transform(np.load(io.BytesIO(self.data))["a"])


def _packed(removed: Removed) -> Loop:
    dataset = Packed(chain(removed, Rescale(0.6)), "decode::npz" not in removed)
    return Loop(loading(removed, dataset, num_workers=2), 4)


class Disk(Dataset[Any]):
    """Blocks of one file, read past the page cache."""

    def __init__(self, transform: Any, reads: bool) -> None:
        self.transform, self.reads = transform, reads
        self.handle, name = tempfile.mkstemp()
        weakref.finalize(self, os.close, self.handle)
        Path(name).unlink()
        os.write(self.handle, os.urandom(BLOCK) * BLOCKS)
        os.fsync(self.handle)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        place, handle = (i * 37 % BLOCKS) * BLOCK, self.handle
        if not self.reads:
            return self.transform(torch.zeros(64))
        with annotate.stage("read", "disk"):
            os.posix_fadvise(handle, place, BLOCK, os.POSIX_FADV_DONTNEED)
            data = os.pread(handle, BLOCK, place)
        return self.transform(torch.frombuffer(bytearray(data[:256]), dtype=torch.float32))


def _disk(removed: Removed) -> Loop:
    dataset = Disk(chain(removed, Jitter(0.4)), "read::disk" not in removed)
    return Loop(loading(removed, dataset, num_workers=1), 3)


class Remote(Pictures):
    """A store far away."""

    def __init__(self, transform: Any, read_ms: float) -> None:
        super().__init__(transform)
        self.read_ms = read_ms

    def __getitem__(self, i: int) -> Any:
        with annotate.stage("read", "remote"):
            work(self.read_ms, "sleep")
        return super().__getitem__(i)


def _remote(removed: Removed) -> Loop:
    read_ms = 0 if "read::remote" in removed else varied(5, "Remote")
    return Loop(loading(removed, Remote(chain(removed, Jitter(0.2)), read_ms), num_workers=4), 4)


def _text_1(removed: Removed) -> Loop:
    return _text(removed, 1)


def _text_0(removed: Removed) -> Loop:
    return _text(removed, 0)


PIPELINES = (
    Pipeline("text_1", "judge", ("transform::Tokenise", "transfer"), _text_1),
    Pipeline("text_0", "judge", ("transform::Tokenise",), _text_0),
    Pipeline("records_2", "judge", ("transform::Normalise", "transfer"), _records),
    Pipeline("packed_2", "judge", ("decode::npz", "transform::Rescale", "transfer"), _packed),
    Pipeline("disk_1", "judge", ("read::disk", "transform::Jitter"), _disk),
    Pipeline("remote_4", "judge", ("read::remote", "transform::Jitter", "transfer"), _remote),
)
