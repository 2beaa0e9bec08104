"""A loader as ultralytics has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

from tests.ecosystem.pipeline import BATCH, RUN, Pipeline
from tests.ecosystem.pipelines.torch_own import Images

OWN = ("own profiler", RUN)
LATE = "annotate.profile: workers that start when the loader is made; make it inside the with block"


class InfiniteDataLoader(DataLoader[Any]):
    """Workers live on, and the batch sampler is replaced by one that never ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", _RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)

    def __iter__(self) -> Iterator[Any]:
        for _ in range(len(self)):
            yield next(self.iterator)

    def __del__(self) -> None:
        if hasattr(self.iterator, "_workers"):
            self.iterator._shutdown_workers()


class _RepeatSampler:
    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from iter(self.sampler)


def infinite(folder: Path) -> Any:
    return InfiniteDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


PIPELINES = (
    Pipeline("torch", "InfiniteDataLoader, as in ultralytics", infinite, "transform::Slow", ways=OWN, unseen=LATE),
)
