"""One sample in each 25 is huge and slow in one transform; two workers.

Planted: Rescale takes 110 to 180 ms for one sample in 25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Compose, Crop, Normalise, Train


class Rescale:
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[-1] > 100:
            kit.plant(self.ms, self.mode)
            return x[..., :33, :33]
        return x


class Mixed(Dataset):
    def __init__(self, transform: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 100000

    def __getitem__(self, i: int) -> Any:
        n = 200 if i % 25 == 7 else 33
        return self.transform(torch.zeros(3, n, n)), i


def build(run: kit.Run) -> None:
    ms, mode = run.ms(110, 180), run.mode()
    run.truth(
        "transform::Rescale",
        ["transform::Rescale"],
        words=r"slow(est)? sample",
        about=f"{mode} {ms} ms for each 25th sample",
    )
    step = Train(run, 10)
    transform = Compose(run.pick([Rescale(ms, mode), Crop(), Normalise()], [Normalise(), Rescale(ms, mode), Crop()]))
    loader = run.loader(DataLoader(Mixed(transform), batch_size=5, num_workers=2))
    with run.profile(active=40) as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
