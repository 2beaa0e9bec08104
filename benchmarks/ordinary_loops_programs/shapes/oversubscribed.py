"""More busy workers than cores.

Planted: one of four transforms takes 3 to 4.5 ms of CPU time a sample, in 5 or 6 workers.
"""

from __future__ import annotations

import os

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(3, 4.5), run.mode("numpy", "pil", "python"), run.pick(5, 6)
    transform, name = slow_one(run, ms, mode)
    run.truth(
        f"transform::{name}",
        [f"transform::{name}"],
        about=f"{mode} {ms} ms of CPU x 8, {workers} workers on {os.cpu_count()} cores",
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=workers))
    with run.profile(active=24) as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
