"""Datasets and samplers for `waste.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, Sampler, get_worker_info

SIDE = 100


class Cropped:
    """Keeps the upper rows of a picture."""

    def __init__(self, keeps: float) -> None:
        self.rows = round(keeps * SIDE)

    def __call__(self, picture: Any) -> Any:
        return picture[: self.rows].clone()


class Decode:
    def __call__(self, index: int) -> Any:
        return torch.from_numpy(np.random.default_rng(index).integers(0, 255, (SIDE, SIDE), dtype=np.uint8))


class Pictures(Dataset[Any]):
    def __init__(self, transform: Callable[[Any], Any] | None = None, n: int = 100) -> None:
        self.decode, self.transform, self.n = Decode(), transform, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        picture = self.decode(index)
        return picture if self.transform is None else self.transform(picture)


class Items(IterableDataset[Any]):
    """Items of different sizes, decoded and padded. Without `shards` each worker reads all of them."""

    def __init__(self, shards: int = 0, n: int = 96) -> None:
        self.shards, self.n, self.decode, self.pad = shards, n, Unpack(), Pad()

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        for item in range(self.n):
            if not self.shards or info is None or item % self.shards % info.num_workers == info.id:
                yield self.pad(self.decode(item))


class Unpack:
    def __call__(self, item: int) -> Any:
        return np.ones(100 + item * 37 % 101, dtype=np.uint8)


class Pad:
    def __call__(self, item: Any) -> Any:
        padded = torch.zeros(256, dtype=torch.uint8)
        padded[: len(item)] = torch.from_numpy(item)
        return padded


class Listed(Sampler[int]):
    def __init__(self, indices: list[int]) -> None:
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return len(self.indices)
