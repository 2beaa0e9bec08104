"""What the pipelines are made of: a pipeline, work that takes a known time, and datasets.

A part that is taken away costs nothing and keeps the shapes: its work is left out, its result is one that was made
before. Without `transfer` a DataLoader worker makes the batch as before, and sends a number in its place.
"""

from __future__ import annotations

import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

Removed = frozenset[str]


@dataclass(frozen=True)
class Loop:
    """A loader, what stands around it, and the time that a step takes beside it: asleep, or as `work` has it."""

    loader: DataLoader[Any]
    step_ms: float
    around: Callable[[Iterable[Any]], Iterable[Any]] | None = None
    step_mode: str = "sleep"

    def step(self) -> None:
        work(self.step_ms, self.step_mode)


@dataclass(frozen=True)
class Pipeline:
    """`parts`: what can be taken away, by the name that the report has for it. `python`: what runs it."""

    name: str
    group: Literal["tune", "judge", "third", "fourth", "fifth", "sixth", "seventh"]
    parts: tuple[str, ...]
    build: Callable[[Removed], Loop] = field(repr=False)
    about: str = ""
    python: Path = Path(sys.executable)


_NUMBERS: Final = np.random.default_rng(0).random(6000)


def work(ms: float, mode: str) -> None:
    """So much sleep, or CPU time of this thread: with the interpreter's lock ("python") or mostly without ("numpy")."""
    if ms <= 0:
        return
    if mode == "sleep":
        time.sleep(ms / 1e3)
        return
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        if mode == "numpy":
            np.sort(_NUMBERS)
        else:
            sum(i * i % 7 for i in range(2500))


seed = 0
"""Of the times: 0 has them as they stand, another one makes each up to 1.6 times as long, or as short."""


settings: Final[dict[str, Any]] = {}
"""Of every DataLoader, in place of the pipeline's own."""


halved: Final[set[str]] = set()
"""Transforms, by the name that the report has for them, that take half of their time."""


def varied(ms: float, name: str) -> float:
    """The time that the part of this name takes with the seed."""
    return ms if seed == 0 else ms * 1.6 ** random.Random(f"{name}/{ms}/{seed}").uniform(-1, 1)


class Work:
    """A transform that takes `ms`, in every `every`-th call."""

    def __init__(self, ms: float, mode: str = "numpy", every: int = 1) -> None:
        self.ms, self.mode = varied(ms, type(self).__name__), mode
        self.every, self.calls = every, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        if self.calls % self.every == 0:
            work(self.ms, self.mode)
        return x


class Blur(Work):
    pass


class Jitter(Work):
    pass


class Normalise(Work):
    pass


class Rescale(Work):
    pass


class Compose:
    def __init__(self, *transforms: Callable[[Any], Any]) -> None:
        self.transforms = transforms

    def __call__(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x


def chain(removed: Removed, *transforms: Work) -> Compose:
    """The transforms; those that are taken away take no time, those that are halved half of theirs."""
    for transform in transforms:
        name = f"transform::{type(transform).__name__}"
        transform.ms *= 0 if name in removed else 0.5 if name in halved else 1
    return Compose(*transforms)


class Pictures(Dataset[Any]):
    """Tensors in memory; `own_ms` is the dataset's own code. `prebuilt`: always the same tensor."""

    def __init__(
        self, transform: Callable[[Any], Any], size: int = 33, own_ms: float = 0, prebuilt: bool = False
    ) -> None:
        self.transform, self.size, self.own_ms = transform, size, own_ms
        self.picture = torch.ones(3, size, size) if prebuilt else None

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        work(self.own_ms, "numpy")
        if self.picture is not None:
            return self.transform(self.picture), i % 10
        return self.transform(torch.full((3, self.size, self.size), float(i % 255))), i % 10


class Stream(IterableDataset[Any]):
    """Records that come one after the other."""

    def __init__(self, transform: Callable[[Any], Any], own_ms: float) -> None:
        self.transform, self.own_ms = transform, own_ms

    def __iter__(self) -> Iterator[Any]:
        while True:
            work(self.own_ms, "sleep")
            yield self.transform(torch.ones(3, 32, 32)), 1


class Prebuilt:
    """Always the same batch."""

    def __init__(self) -> None:
        self.batch: Any = None

    def __call__(self, samples: Sequence[Any]) -> Any:
        if self.batch is None:
            self.batch = default_collate(list(samples))
        return self.batch


KEPT = 64
"""Batches that a worker keeps when it sends none."""


class WithoutTransfer:
    """Makes the batch, and hands over a number in its place.

    The batches are kept: with the transfer it is the training process that frees their shared memory.
    """

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate
        self.kept: deque[Any] = deque(maxlen=KEPT)

    def __call__(self, samples: Any) -> int:
        self.kept.append(self.collate(samples))
        return 0


def loading(
    removed: Removed,
    dataset: Dataset[Any],
    collate: Callable[[Any], Any] = default_collate,
    batch_size: int | None = 8,
    **own: Any,
) -> DataLoader[Any]:
    if "collate::default_collate" in removed:
        collate = Prebuilt()
    if "transfer" in removed:
        collate = WithoutTransfer(collate)
    if "batch_sampler" not in own:
        own["batch_size"] = batch_size
    own |= settings
    if own.get("num_workers") == 0:
        own.pop("prefetch_factor", None)
        own.pop("persistent_workers", None)
        own.pop("multiprocessing_context", None)
    return DataLoader(dataset, collate_fn=collate, **own)


class Padding:
    """A collate function that pads; `ms` is what its loops take."""

    def __init__(self, ms: float, mode: str = "numpy") -> None:
        self.ms, self.mode = varied(ms, type(self).__name__), mode

    def __call__(self, samples: Sequence[Any]) -> Any:
        work(self.ms, self.mode)
        return default_collate(list(samples))


class pad_collate(Padding):  # noqa: N801 -- a function's name, as users have it
    pass
