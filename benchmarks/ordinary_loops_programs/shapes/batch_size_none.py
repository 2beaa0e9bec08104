"""batch_size=None: an iterable dataset that yields whole batches, with a slow transform of the batch.

Planted: one of four transforms, of the whole batch, takes 12 to 20 ms for each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train, slow_one


class Shards(IterableDataset):
    def __init__(self, transform: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.transform = transform

    def __iter__(self) -> Iterator[Any]:
        while True:
            x = torch.rand(16, 3, 33, 33)
            yield {"image": self.transform(x), "label": torch.zeros(16)}


def build(run: kit.Run) -> None:
    workers, mode = run.pick(0, 1, 2), run.mode()
    ms = run.ms(12, 20) * max(1, workers)
    transform, name = slow_one(run, ms, mode)
    run.truth(f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms:.1f} ms a batch, {workers} workers")
    step = Train(run, 6)
    loader = run.loader(DataLoader(Shards(transform), batch_size=None, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for batch in prof.steps(loader):
            run.got()
            step(batch["image"])
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
