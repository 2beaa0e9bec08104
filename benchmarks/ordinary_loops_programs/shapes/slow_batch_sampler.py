"""A batch sampler that forms buckets slowly, once a batch.

Planted: the batch sampler takes 9 to 18 ms for each batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, Sampler

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


class BucketByLength(Sampler):
    def __init__(self, n: int, size: int, ms: float, mode: str) -> None:
        self.n, self.size, self.ms, self.mode = n, size, ms, mode

    def __len__(self) -> int:
        return self.n // self.size

    def __iter__(self) -> Iterator[Any]:
        for b in range(self.n // self.size):
            kit.plant(self.ms, self.mode)
            yield list(range(b * self.size, (b + 1) * self.size))


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(9, 18), run.mode("sleep", "numpy", "python"), run.pick(0, 1, 2)
    run.truth(
        "sampler::BucketByLength", [r"sampler::.*BucketByLength.*"], about=f"{mode} {ms} ms a batch, {workers} workers"
    )
    step = Train(run, 10)
    loader = run.loader(
        DataLoader(Pictures(quick()), num_workers=workers, batch_sampler=BucketByLength(100000, 8, ms, mode))
    )
    with run.profile() as prof:
        run.begin()
        for x, y in loader:
            run.got()
            step(x, y)
            over = run.done()
            prof.step()
            if over:
                break


if __name__ == "__main__":
    kit.main(build, __file__)
