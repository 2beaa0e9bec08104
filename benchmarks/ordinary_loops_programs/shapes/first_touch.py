"""Each worker opens its archive at its first sample, slowly; workers are new in each epoch, epochs are short.

Planted: a worker's first sample takes 110 to 180 ms.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train


class Archive(Dataset):
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode, self.file = ms, mode, None

    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int) -> Any:
        if self.file is None:
            kit.plant(self.ms, self.mode)
            self.file = torch.rand(40, 3, 32, 32)
        return self.file[i], i


def build(run: kit.Run) -> None:
    ms, mode = run.ms(110, 180), run.mode()
    run.truth(
        "sample::Archive",
        [r"sample::Archive.*"],
        words=r"first sample|first touch|first access",
        about=f"{mode} {ms} ms at each worker's first sample",
    )
    step = Train(run, 10)
    loader = run.loader(DataLoader(Archive(ms, mode), batch_size=4, num_workers=2))
    with run.profile(wait=14, active=30) as prof:
        while not run.over:
            run.begin()
            for x, y in prof.steps(loader):
                run.got()
                step(x, y)
                if run.done():
                    break


if __name__ == "__main__":
    kit.main(build, __file__)
