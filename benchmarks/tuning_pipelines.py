"""Ten slow pipelines, each by a function that `tune` can be given."""

from __future__ import annotations

import io
import pickle
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

STEP_MS: Final = 4.0


def busy(ms: float) -> None:
    """Occupies a CPU: by CPU time, so that a crowded machine makes it longer."""
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        pass


class Made(Dataset[Any]):
    """`make` gives a sample by its index; a module's function, so that it can be pickled."""

    def __init__(self, make: Callable[[int], Any], length: int = 4096) -> None:
        self.make, self.length = make, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.make(index)


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        while True:
            time.sleep(0.002)
            busy(0.5)
            yield torch.zeros(64)


def _remote(index: int) -> Any:
    time.sleep(0.004)
    return torch.zeros(256)


def _uneven(index: int) -> Any:
    time.sleep(0.06 if index % 37 == 0 else 0.001)
    return torch.zeros(256)


def _decoding(index: int) -> Any:
    busy(1.5)
    return torch.zeros(3, 32, 32)


def _mixed(index: int) -> Any:
    time.sleep(0.002)
    busy(0.8)
    return torch.zeros(3, 32, 32)


def _text(index: int) -> Any:
    words = [f"w{(index * number) % 977}" for number in range(900)]
    return torch.tensor([hash(word) % 30000 for word in words])


def _array(index: int) -> Any:
    return np.sort(np.random.default_rng(index).normal(size=30000)).astype(np.float32)


def _large(index: int) -> Any:
    time.sleep(0.001)
    return torch.zeros(256, 1024)


def _objects(index: int) -> Any:
    return pickle.loads(pickle.dumps([{"name": str(number), "value": number} for number in range(1500)]))


def _archive(index: int) -> Any:
    packed = io.BytesIO()
    np.savez_compressed(packed, a=np.arange(4000) % 50)
    packed.seek(0)
    return np.load(packed)["a"]


def _as_list(batch: list[Any]) -> list[Any]:
    return batch


def remote() -> DataLoader[Any]:
    return DataLoader(Made(_remote), batch_size=8)


def uneven() -> DataLoader[Any]:
    return DataLoader(Made(_uneven), batch_size=4, num_workers=2, sampler=random.Random(0).sample(range(4096), 4096))


def decoding() -> DataLoader[Any]:
    return DataLoader(Made(_decoding), batch_size=8)


def mixed() -> DataLoader[Any]:
    return DataLoader(Made(_mixed), batch_size=8, num_workers=1)


def text() -> DataLoader[Any]:
    return DataLoader(Made(_text), batch_size=16)


def array() -> DataLoader[Any]:
    return DataLoader(Made(_array), batch_size=8)


def large() -> DataLoader[Any]:
    return DataLoader(Made(_large), batch_size=16)


def objects() -> DataLoader[Any]:
    return DataLoader(Made(_objects), batch_size=8, collate_fn=_as_list)


def archive() -> DataLoader[Any]:
    return DataLoader(Made(_archive), batch_size=8, num_workers=8)


def stream() -> DataLoader[Any]:
    return DataLoader(Stream(), batch_size=8)


PIPELINES: Final = ("remote", "uneven", "decoding", "mixed", "text", "array", "large", "objects", "archive", "stream")
