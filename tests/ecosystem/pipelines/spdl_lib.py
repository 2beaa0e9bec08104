"""SPDL: a pipeline of threads or processes, no torch DataLoader anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from spdl.dataloader import DataLoader, get_pytorch_dataloader
from spdl.pipeline import PipelineBuilder

from tests.ecosystem.pipeline import BATCH, FROM_START, SIZE, Pipeline, Slow, slow

STARTED = "own profiler: a pipeline that was built when the profiler began"
PROCESSES = "what its processes do: they are no DataLoader workers"


class Squares:
    """Without random numbers: which process gets which batch is left to chance."""

    def __init__(self) -> None:
        self.transform = Slow()

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.tensor([index, index**2]))


def decode(index: int) -> Any:
    return np.full((4, 4), slow(index), dtype=np.float32)


def batch_up(arrays: list[Any]) -> torch.Tensor:
    return torch.from_numpy(np.stack(arrays))


def data_loader(folder: Path) -> Any:
    return DataLoader(
        range(SIZE), preprocessor=decode, batch_size=BATCH, aggregator=batch_up, num_threads=2, output_order="input"
    )


def like_torchs(folder: Path) -> Any:
    return get_pytorch_dataloader(
        Squares(), batch_size=BATCH, num_workers=2, in_order=True, multiprocessing_context="fork"
    )


class Built:
    """As its guide builds a pipeline."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        builder = PipelineBuilder().add_source(range(SIZE)).pipe(decode, concurrency=2, output_order="input")
        pipeline = builder.aggregate(BATCH).pipe(batch_up).add_sink(2).build(num_threads=2)
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=30)


def built(folder: Path) -> Any:
    return Built()


PIPELINES = (
    Pipeline("spdl", "DataLoader(preprocessor=...)", data_loader, "transform::decode", ways=FROM_START, unseen=STARTED),
    Pipeline("spdl", "PipelineBuilder().pipe(...)", built, "transform::decode", ways=FROM_START, unseen=STARTED),
    Pipeline("spdl", "get_pytorch_dataloader, processes", like_torchs, "transform::Slow", ways=(), unseen=PROCESSES),
)
