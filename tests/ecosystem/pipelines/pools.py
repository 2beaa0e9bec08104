"""Pools of threads inside DataLoader workers, and where the loop loads the samples itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from spdl.pipeline import PipelineBuilder
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchdata.nodes import IterableWrapper, Loader, ParallelMapper

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, Slow, slow

VIEWS, THREADS = 2, 2


def numbers() -> Iterable[int]:
    """This worker's share of all samples."""
    info = get_worker_info()
    return range(SIZE) if info is None else range(info.id, SIZE, info.num_workers)


class Views(Dataset[Any]):
    """Several views of each image, made side by side."""

    def __init__(self) -> None:
        self.transform = Slow()

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(self.transform, torch.full((VIEWS, 3, 6), float(index))))


class Ahead(IterableDataset[Any]):
    """A pool that loads some samples ahead, kept in order."""

    def __init__(self) -> None:
        self.transform = Slow()

    def __iter__(self) -> Iterator[Any]:
        waiting: deque[Future[Any]] = deque()
        left = iter(numbers())
        with ThreadPoolExecutor(THREADS) as pool:
            for index in islice(left, 2 * THREADS):
                waiting.append(pool.submit(self.transform, torch.tensor(index)))
            while waiting:
                yield waiting.popleft().result()
                for index in islice(left, 1):
                    waiting.append(pool.submit(self.transform, torch.tensor(index)))


class Nodes(IterableDataset[Any]):
    """torchdata's nodes behind torch's DataLoader."""

    def __iter__(self) -> Iterator[Any]:
        mapper = ParallelMapper(IterableWrapper(numbers()), map_fn=slow, num_workers=THREADS, method="thread")
        yield from Loader(mapper)


class Piped(IterableDataset[Any]):
    """An SPDL pipeline behind torch's DataLoader."""

    def __iter__(self) -> Iterator[Any]:
        builder = PipelineBuilder().add_source(numbers()).pipe(slow, concurrency=THREADS, output_order="input")
        pipeline = builder.add_sink(2).build(num_threads=THREADS)
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=30)


def views(folder: Path) -> Any:
    return DataLoader(Views(), batch_size=BATCH, num_workers=2)


def views_alone(folder: Path) -> Any:
    return DataLoader(Views(), batch_size=BATCH)


def ahead(folder: Path) -> Any:
    return DataLoader(Ahead(), batch_size=BATCH, num_workers=2)


def ahead_alone(folder: Path) -> Any:
    return DataLoader(Ahead(), batch_size=BATCH)


def nodes(folder: Path) -> Any:
    return DataLoader(Nodes(), batch_size=BATCH, num_workers=2)


def piped(folder: Path) -> Any:
    return DataLoader(Piped(), batch_size=BATCH, num_workers=2)


PIPELINES = (
    Pipeline("torch", "a thread pool in __getitem__, 2 workers", views, "transform::Slow"),
    Pipeline("torch", "a thread pool in __getitem__, 0 workers", views_alone, "transform::Slow"),
    Pipeline("torch", "a thread pool ahead of __iter__, 2 workers", ahead, "transform::Slow"),
    Pipeline("torch", "a thread pool ahead of __iter__, 0 workers", ahead_alone, "transform::Slow"),
    Pipeline("torchdata", "nodes: ParallelMapper in threads, in a DataLoader worker", nodes, "transform::slow"),
    Pipeline("spdl", "PipelineBuilder().pipe(...), in a DataLoader worker", piped, "transform::slow"),
)
