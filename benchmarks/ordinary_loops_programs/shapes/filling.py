"""A cold start: the first batches are slow, buffers are empty as the window opens, and fill. Steady state is healthy.

Planted: the first 56 samples take 12 to 18 ms each, before the window; each later one takes 1.2 ms, which is no delay.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train, quick


class Cold(Dataset):
    def __init__(self, cold: int, ms: float, mode: str) -> None:
        self.cold, self.ms, self.mode, self.transform = cold, ms, mode, quick()

    def __len__(self) -> int:
        return 100000

    def __getitem__(self, i: int) -> Any:
        if i < self.cold:
            kit.plant(self.ms, self.mode)
        else:
            kit.plant(1.2, "sleep", "warm")
        return self.transform(torch.full((3, 33, 33), float(i % 7))), i


def build(run: kit.Run) -> None:
    ms, mode = run.ms(12, 18), run.mode("sleep", "numpy")
    run.truth(
        "host",
        [],
        verdict=["host", "device", "balanced", "unknown"],
        what="time",
        about=f"first 56 samples {mode} {ms} ms, before the window; then 1.2 ms",
    )
    step = Train(run, 20)
    loader = run.loader(DataLoader(Cold(56, ms, mode), batch_size=8, num_workers=2, prefetch_factor=4))
    with run.profile(wait=7, active=20) as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
