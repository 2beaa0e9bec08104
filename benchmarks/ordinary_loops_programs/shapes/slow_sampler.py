"""A sampler that takes its time for every index.

Planted: the sampler takes 1 to 2 ms for each of a batch's 8 indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, Sampler

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


class WeightedByLoss(Sampler):
    def __init__(self, n: int, ms: float, mode: str) -> None:
        self.n, self.ms, self.mode = n, ms, mode

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        for i in range(self.n):
            kit.plant(self.ms, self.mode)
            yield (i * 7919) % self.n


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(1.0, 2.0), run.mode("sleep", "numpy", "python"), run.pick(0, 2)
    run.truth(
        "sampler::WeightedByLoss", [r"sampler::.*WeightedByLoss.*"], about=f"{mode} {ms} ms x 8, {workers} workers"
    )
    step = Train(run, 10)
    loader = run.loader(
        DataLoader(Pictures(quick()), batch_size=8, num_workers=workers, sampler=WeightedByLoss(100000, ms, mode))
    )
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
