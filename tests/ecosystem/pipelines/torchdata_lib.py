"""torchdata: its nodes, and StatefulDataLoader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torchdata.nodes import Batcher, Loader, Mapper, ParallelMapper, Prefetcher, SamplerWrapper
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.ecosystem.pipeline import BATCH, FROM_START, SIZE, Pipeline, slow
from tests.ecosystem.pipelines.torch_own import Images

STARTED = "own profiler: what runs in threads that had started when the profiler did"
PROCESSES = "what its processes do: they are no DataLoader workers"


def stateful(folder: Path) -> Any:
    return StatefulDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


def source() -> Any:
    return SamplerWrapper(torch.utils.data.SequentialSampler(range(SIZE)))


def nodes(folder: Path) -> Any:
    return Loader(Batcher(Mapper(source(), map_fn=slow), BATCH))


def threads(folder: Path) -> Any:
    return Loader(Prefetcher(Batcher(ParallelMapper(source(), map_fn=slow, num_workers=2, method="thread"), BATCH), 2))


def processes(folder: Path) -> Any:
    mapped = ParallelMapper(source(), map_fn=slow, num_workers=2, method="process", multiprocessing_context="fork")
    return Loader(Batcher(mapped, BATCH))


PIPELINES = (
    Pipeline("torchdata", "StatefulDataLoader", stateful, "transform::Slow"),
    Pipeline("torchdata", "nodes: Mapper", nodes, "transform::slow"),
    Pipeline(
        "torchdata",
        "nodes: ParallelMapper in threads, Prefetcher",
        threads,
        "transform::slow",
        ways=FROM_START,
        unseen=STARTED,
    ),
    Pipeline(
        "torchdata", "nodes: ParallelMapper in processes", processes, "transform::slow", ways=(), unseen=PROCESSES
    ),
)
