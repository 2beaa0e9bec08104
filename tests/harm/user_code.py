"""The user's code: datasets, transforms, collate function, samplers and loaders, which note what they see of annotate.

What runs in a worker tells of itself in its samples, by `flag`: numbers from `FLAGS` on, before the values. Each place
that warns does so at every call; Python shows it once.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import SpawnContext
from pathlib import Path
from queue import Queue
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import PIL.Image
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    SequentialSampler,
    Subset,
    get_worker_info,
)
from torch.utils.data import _utils as data_utils
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from tests.harm.cells import KINDS, STRUCK, Kind
from tests.harm.kept_code import KeepsSteps, Same


class BadSample(ValueError):
    """What the user's own code raises."""


@dataclass
class Trap:
    """Goes off in the batch `STRUCK`, which each worker counts for itself."""

    kind: str = ""
    worker: int = 0
    calls: int = 0
    """Of samples, until it goes off."""
    gate: str = ""
    """A named pipe: held shut until the loop has had all batches before."""
    seen: int = 0

    def step_on(self, kind: str) -> None:
        if kind != self.kind:
            return
        info = get_worker_info()
        if info is not None and info.id != self.worker:
            return
        self.seen += 1
        if self.seen == self.calls:
            self.go_off()

    def go_off(self) -> None:
        if self.kind != "worker_killed":
            raise BadSample(f"user: {self.kind} of sample {self.seen}")
        with open(self.gate, "rb") as gate:
            gate.read()
        wait_until_the_loop_waits()
        os.kill(os.getpid(), signal.SIGKILL)


def wait_until_the_loop_waits() -> None:
    """A worker's death raises wherever the loop is just then: it is to be in `next()`, waiting for this batch."""
    parent = multiprocessing.parent_process()
    stat = f"/proc/{parent.pid if parent else os.getppid()}/stat"
    asleep = 0
    for _ in range(2000):
        with open(stat, "rb") as file:
            asleep = asleep + 1 if file.read().rpartition(b")")[2].split()[0] == b"S" else 0
        if asleep == 20:
            return
        time.sleep(0.005)


FLAGS = 1000
NAMES = (
    "type of the dataset",
    "index type",
    "type of the dataset's transform",
    "attributes of the dataset",
    "steps of its class and in lists of lists",
    "type of the transform object",
    "attributes of the transform object",
    "type of the pipeline",
    "types in the pipeline",
    "type of the stream",
    "type of the collate function",
    "type of the collate function's argument",
    "type of the loader",
    "type of the iterator",
    "batches that the iterator has handed out",
)
"""What the flags are of; a flag is 1 where user code sees what it expects, but for the index type and attributes."""


def flag(name: str, value: float) -> float:
    """One number for both."""
    return FLAGS * (1 + NAMES.index(name)) + value


def flagged(row: torch.Tensor, **flags: float) -> torch.Tensor:
    """Flags, then the row."""
    numbers = [flag(name.replace("_s_", "'s ").replace("_", " "), value) for name, value in flags.items()]
    return torch.cat([torch.tensor(numbers, dtype=row.dtype), row])


def all_flagged(batch: torch.Tensor, **flags: float) -> torch.Tensor:
    """The same for each row of a batch."""
    return torch.stack([flagged(row, **flags) for row in batch])


def is_exactly(obj: object, cls: type) -> float:
    """1 where user code that asks `obj` for its type, in either way, gets `cls`, and `cls` is what the module has."""
    return float(type(obj) is cls and obj.__class__ is cls and globals().get(cls.__name__) is cls)


class Shift:
    """A transform that is an object."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def __call__(self, row: torch.Tensor) -> torch.Tensor:
        warnings.warn("user: transform", UserWarning, stacklevel=1)
        self.trap.step_on("transform_raises")
        return flagged(
            row + 1,
            type_of_the_transform_object=is_exactly(self, Shift),
            attributes_of_the_transform_object=len(vars(self)),
        )


def doubled(row: torch.Tensor) -> torch.Tensor:
    """A transform that is a function."""
    return row * 2


def scaled(row: torch.Tensor, factor: float) -> torch.Tensor:
    """A transform that is a partial."""
    return row * factor


class Pipeline:
    """A container of transforms that looks at what it holds."""

    def __init__(self, transforms: list[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, row: torch.Tensor) -> torch.Tensor:
        # Of a function or a partial, which have no class to stand on, only type() and `is` may tell a stand-in.
        kinds = [one.__class__ for one in self.transforms]
        exact = kinds == [partial, FunctionType, Shift] and self.transforms[1] == doubled
        exact = exact and type(self.transforms[2]) is Shift
        for transform in self.transforms:
            row = transform(row)
        return flagged(row, type_of_the_pipeline=is_exactly(self, Pipeline), types_in_the_pipeline=exact)


INDEX_KINDS = (int, tuple, torch.Tensor, np.int64)


class Photos(KeepsSteps, Dataset[Any]):
    """A map-style dataset that reads files and draws random numbers."""

    def __init__(self, size: int, folder: str, trap: Trap, draws: bool) -> None:
        self.size = size
        self.folder = folder
        self.trap = trap
        self.draws = draws
        self.kind = type(self)
        self.transform = Pipeline([partial(scaled, factor=0.5), doubled, Shift(trap)])
        self.keep()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        warnings.warn("user: sample", UserWarning, stacklevel=1)
        self.trap.step_on("dataset_raises")
        self.trap.step_on("worker_killed")
        number = int(index[0] if isinstance(index, tuple) else index)
        values = [float(number), *self.read(number)]
        if self.draws:
            values += [random.random(), float(np.random.rand()), float(torch.rand(1))]
        return flagged(
            self.transform(self.through(torch.tensor(values, dtype=torch.float64))),
            type_of_the_dataset=is_exactly(self, self.kind),
            index_type=INDEX_KINDS.index(type(index)),
            type_of_the_dataset_s_transform=is_exactly(self.transform, Pipeline),
            attributes_of_the_dataset=len(vars(self)),
            steps_of_its_class_and_in_lists_of_lists=self.is_as_it_was_made(),
        )

    def read(self, number: int) -> list[float]:
        folder = Path(self.folder)
        with open(folder / "labels.txt") as file:
            label = float(file.read().split()[number % 4])
        image = PIL.Image.open(folder / "photo.png")
        array = np.load(folder / "array.npy")
        pixel = image.getpixel((number % 4, 0))
        image.close()
        return [label, float(pixel), float(array[number % 4])]  # type: ignore[arg-type]


class Batched(Photos):
    """A dataset that is asked for whole batches."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        assert type(indices) is list
        return [self[index] for index in indices]


class Records(Photos):
    """A dataset of dictionaries, whose method calls its parent's."""

    def __getitem__(self, index: Any) -> Any:
        return {"row": super().__getitem__(index), "index": index, "name": f"record {index}"}


class Stream(IterableDataset[Any]):
    """Shared out to the workers by turns."""

    def __init__(self, photos: Photos) -> None:
        self.photos = photos

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, len(self.photos), step):
            yield flagged(self.photos[index], type_of_the_stream=is_exactly(self, Stream))


class Join:
    """A collate function that is an object."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def __call__(self, rows: list[torch.Tensor]) -> torch.Tensor:
        warnings.warn("user: collate", UserWarning, stacklevel=1)
        self.trap.step_on("collate_raises")
        exact, is_list = is_exactly(self, Join), type(rows) is list
        flags = {"type_of_the_collate_function": exact, "type_of_the_collate_function_s_argument": is_list}
        return torch.stack([flagged(row, **flags) for row in rows])


def converted(row: torch.Tensor) -> torch.Tensor:
    """What a loader without batches calls."""
    return row


class Indices(Sampler[Any]):
    """Indices of other types than int, in an order drawn from torch."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        warnings.warn("user: sampler", UserWarning, stacklevel=1)
        for place, index in enumerate(torch.randperm(self.size)):
            yield (index, (int(index), "a"), np.int64(index))[place % 3]


class OwnIter(DataLoader[Any]):
    """A loader that is a generator of batches made better."""

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        for batch in super().__iter__():
            yield all_flagged(batch, type_of_the_loader=is_exactly(self, OwnIter))


class CountingIterator(_SingleProcessDataLoaderIter):
    """An iterator of somebody's own."""

    handed_out = 0

    def __next__(self) -> Any:
        batch = super().__next__()
        self.handed_out += 1
        return all_flagged(
            batch,
            type_of_the_iterator=is_exactly(self, CountingIterator),
            batches_that_the_iterator_has_handed_out=self.handed_out,
        )


class OwnGetIterator(DataLoader[Any]):
    """A loader that chooses its iterator's class."""

    def _get_iterator(self) -> Any:
        return CountingIterator(self)


class ReadAhead(DataLoader[Any]):
    """A loader whose batches are made in a thread, one ahead of the loop."""

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        end = object()
        iterator = super().__iter__()
        with ThreadPoolExecutor(1, "read ahead") as pool:
            coming = pool.submit(next, iterator, end)
            while (batch := coming.result()) is not end:
                coming = pool.submit(next, iterator, end)
                yield batch


class ThreadWorker(threading.Thread):
    """A thread in the place of a worker process."""

    exitcode: int | None = None

    @property
    def pid(self) -> int:
        return id(self)

    def run(self) -> None:
        try:
            super().run()
        finally:
            data_utils.worker._worker_info = None

    def terminate(self) -> None:
        """There is no way to."""


class ThreadQueue(Queue[Any]):
    """A queue between threads with what DataLoader calls on one between processes."""

    def close(self) -> None:
        pass

    def cancel_join_thread(self) -> None:
        pass


class ThreadContext(SpawnContext):
    """A multiprocessing context whose processes are threads."""

    _name = "threads"
    Process: ClassVar[Any] = ThreadWorker
    Queue: ClassVar[Any] = ThreadQueue


CLASSES = (
    *(KeepsSteps, Same, Photos, Batched, Records, Stream, Shift, Pipeline, Join, Indices, Trap),
    *(OwnIter, OwnGetIterator, CountingIterator, ReadAhead, ThreadWorker, ThreadQueue, ThreadContext),
)
"""None of them may be another one afterwards, in any method."""


def trap_for(ending: str, kind: Kind, gate: str) -> Trap:
    """Goes off in the middle of the batch `STRUCK`."""
    workers = max(1, kind.workers)
    per_batch = 1 if ending == "collate_raises" else kind.batch
    calls = STRUCK // workers * per_batch + (2 if per_batch > 1 else 1)
    return Trap(ending, STRUCK % workers, calls, gate)


def make_loader(name: str, ending: str, files: str, gate: str) -> DataLoader[Any]:
    """The user's loader, by its name in `cells.KINDS`."""
    kind = KINDS[name]
    trap = trap_for(ending, kind, gate)
    photos = _dataset(name, kind.batches * kind.batch, files, trap, kind.random)
    keywords: dict[str, Any] = {"batch_size": kind.batch, "num_workers": kind.workers, "collate_fn": Join(trap)}
    cls: Any = {"own_iter": OwnIter, "own_get_iterator": OwnGetIterator, "read_ahead": ReadAhead}.get(name, DataLoader)
    keywords.update(_settings(name, photos))
    return cls(photos, **keywords)  # type: ignore[no-any-return]


def _dataset(name: str, size: int, files: str, trap: Trap, draws: bool) -> Any:
    match name:
        case "iterable" | "iterable_workers":
            return Stream(Photos(size, files, trap, draws))
        case "own_batches":
            return Batched(size, files, trap, draws)
        case "nested":
            parts = [Records(size // 2, files, trap, draws), Records(size // 2, files, trap, draws)]
            return Subset(ConcatDataset(parts), list(range(size))[::-1])
        case _:
            return Photos(size, files, trap, draws)


def _settings(name: str, dataset: Any) -> dict[str, Any]:
    match name:
        case "map" | "own_get_iterator":
            return {"shuffle": True}
        case "persistent":
            return {"persistent_workers": True, "shuffle": True, "generator": torch.Generator().manual_seed(5)}
        case "map_spawn" | "map_forkserver":
            return {"multiprocessing_context": name.removeprefix("map_")}
        case "unbatched":
            return {"batch_size": None, "collate_fn": converted}
        case "own_batches":
            sampler = BatchSampler(SequentialSampler(dataset), 4, drop_last=False)
            return {"batch_size": 1, "batch_sampler": sampler}
        case "own_indices":
            return {"sampler": Indices(len(dataset))}
        case "nested":
            return {"collate_fn": None}
        case "out_of_order":
            return {"in_order": False, "pin_memory": True}
        case "thread_workers":
            return {"multiprocessing_context": ThreadContext()}
        case _:
            return {}
