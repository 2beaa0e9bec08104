"""The third group, by what the loop is: buckets, graphs, two views, packing, tiny batches, copies, steps on the CPU.

Written when the model of `whatif` had been mended on the other pipelines, and before any prediction of these was seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import BatchSampler, Dataset, IterableDataset

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
    pad_collate,
    work,
)

LENGTHS: Final = tuple(random.Random(5).choices(range(100, 1000), k=4096))


class Buckets(BatchSampler):
    """Sorts many indices by length at once, then hands out their batches: drawing is slow every sixteenth time."""

    def __init__(self, sorts: bool) -> None:
        self.sorts = sorts

    def __len__(self) -> int:
        return 10**5

    def __iter__(self) -> Iterator[list[int]]:
        pick = random.Random(1)
        while True:
            drawn = [pick.randrange(4096) for _ in range(128)]
            if self.sorts:
                for _ in range(3):
                    sorted(range(4096), key=lambda i: (LENGTHS[i], pick.random()))
                drawn.sort(key=LENGTHS.__getitem__)
            batches = [drawn[at : at + 8] for at in range(0, 128, 8)]
            pick.shuffle(batches)
            yield from batches


class Trim(Work):
    """Takes as long as the sample is: `ms` for a thousand values."""

    def __call__(self, x: Any) -> Any:
        work(self.ms * len(x) / 1000, self.mode)
        return x


class Lengths(Dataset[Any]):
    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, i: int) -> Any:
        return self.transform(torch.zeros(LENGTHS[i]))


def padded(samples: list[Any]) -> Any:
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


def _buckets(removed: Removed) -> Loop:
    dataset = Lengths(chain(removed, Trim(2.4), Jitter(0.2)))
    sampler = Buckets("sampler::Buckets" not in removed)
    return Loop(loading(removed, dataset, padded, batch_sampler=sampler, num_workers=2), 4)


class Graphs(Dataset[Any]):
    """Three tensors to a sample, of other sizes each time."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        nodes = 20 + i * 13 % 50
        edges = torch.zeros(2, 4 * nodes, dtype=torch.int64)
        return self.transform({"nodes": torch.ones(nodes, 16), "edges": edges, "label": torch.tensor(i % 3)})


def _as_is(samples: list[Any]) -> list[Any]:
    return samples


def _graphs(removed: Removed) -> Loop:
    return Loop(loading(removed, Graphs(chain(removed, Jitter(0.5))), _as_is, batch_size=12, num_workers=2), 4)


class Views(Dataset[Any]):
    """Two views of each picture."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        picture = torch.full((3, 48, 48), float(i % 255))
        return self.transform(picture), self.transform(picture)


def _views(removed: Removed) -> Loop:
    return Loop(loading(removed, Views(chain(removed, Blur(0.5), Jitter(0.3, "python"))), num_workers=2), 5)


class Hash(Work):
    """Words to numbers, in Python; `ms` is how many times."""

    def __call__(self, x: Any) -> Any:
        for _ in range(round(self.ms)):
            [hash(word) % 30000 for word in x]
        return x


class Packing(IterableDataset[Any]):
    """Documents of other lengths, joined until a sample is full: as many as it takes."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform = transform

    def __iter__(self) -> Iterator[Any]:
        pick, kept = random.Random(2), 0
        while True:
            while kept < 2048:
                words = [f"w{k}" for k in range(pick.randrange(50, 900))]
                kept += len(self.transform(words))
            kept -= 2048
            yield torch.zeros(2048, dtype=torch.int64)


def _packing(removed: Removed) -> Loop:
    return Loop(loading(removed, Packing(chain(removed, Hash(4), Normalise(0.2))), batch_size=6, num_workers=1), 6)


def _tiny(removed: Removed) -> Loop:
    dataset = Pictures(chain(removed, Jitter(0.4)), size=16)
    return Loop(loading(removed, dataset, batch_size=2, num_workers=2), 0.5)


class Roll(Work):
    """Moves 4 MB about, which the CPUs' caches do not hold; `ms` is how many times."""

    def __call__(self, x: Any) -> Any:
        for _ in range(round(self.ms)):
            np.roll(x, 1000)
        return x


class Fields(Dataset[Any]):
    """Large in memory, small in the batch."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        self.transform, self.field = transform, np.ones(1 << 20, np.float32)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(self.transform(self.field)[:512])


def _copies(removed: Removed) -> Loop:
    return Loop(loading(removed, Fields(chain(removed, Roll(2), Jitter(0.5))), batch_size=4, num_workers=2), 3)


def _cpu_step_2(removed: Removed) -> Loop:
    dataset = Pictures(chain(removed, Blur(0.9), Jitter(0.3)))
    return Loop(loading(removed, dataset, num_workers=2), 6, step_mode="numpy")


def _cpu_step_1(removed: Removed) -> Loop:
    """The step keeps the interpreter's lock."""
    dataset = Pictures(chain(removed, Blur(0.6), Normalise(0.5, "sleep")))
    return Loop(loading(removed, dataset, num_workers=1), 5, step_mode="python")


def _cpu_step_0(removed: Removed) -> Loop:
    collate = pad_collate(0 if "collate::pad_collate" in removed else 3)
    dataset = Pictures(chain(removed, Jitter(0.9)))
    return Loop(loading(removed, dataset, collate, num_workers=0), 7, step_mode="numpy")


PIPELINES: Final = (
    Pipeline("buckets_2", "third", ("sampler::Buckets", "transform::Trim", "transform::Jitter"), _buckets),
    Pipeline("graphs_2", "third", ("transform::Jitter", "transfer"), _graphs),
    Pipeline("views_2", "third", ("transform::Blur", "transform::Jitter", "transfer"), _views),
    Pipeline("packing_1", "third", ("transform::Hash", "transform::Normalise", "transfer"), _packing),
    Pipeline("tiny_2", "third", ("transform::Jitter", "transfer"), _tiny),
    Pipeline("copies_2", "third", ("transform::Roll", "transform::Jitter"), _copies),
    Pipeline("cpu_step_2", "third", ("transform::Blur", "transform::Jitter", "transfer"), _cpu_step_2),
    Pipeline("cpu_step_1", "third", ("transform::Blur", "transform::Normalise"), _cpu_step_1),
    Pipeline("cpu_step_0", "third", ("transform::Jitter", "collate::pad_collate"), _cpu_step_0),
)
