"""Slow is a private method that __getitem__ calls, beside quick transforms.

Planted: _tokenise(), which __getitem__ calls, takes 1.6 to 2.6 ms a sample for each worker.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train, quick


class Corpus(Dataset):
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode, self.transform = ms, mode, quick()

    def __len__(self) -> int:
        return 100000

    def _tokenise(self, i: int) -> torch.Tensor:
        kit.plant(self.ms, self.mode)
        return torch.full((3, 33, 33), float(i % 7))

    def __getitem__(self, i: int) -> Any:
        return self.transform(self._tokenise(i)), i


def build(run: kit.Run) -> None:
    mode, workers = run.mode("sleep", "numpy", "pil"), run.pick(0, 1, 2)
    ms = run.ms(1.6, 2.6) * max(1, workers)
    run.truth(
        "sample::Corpus",
        [r"sample::Corpus.*", r".*_tokenise.*"],
        about=f"{mode} {ms:.2f} ms x 8 in _tokenise, {workers} workers",
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Corpus(ms, mode), batch_size=8, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
