"""Four batches per optimizer step, prof.step() once per optimizer step; a transform limits the workers.

Planted: one of four transforms takes 1.6 to 2.6 ms a sample for each worker.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(1.6, 2.6), run.mode(), run.pick(0, 2)
    ms *= max(1, workers)
    transform, name = slow_one(run, ms, mode)
    run.truth(
        f"transform::{name}",
        [f"transform::{name}"],
        about=f"{mode} {ms:.2f} ms x 8, {workers} workers, 4 batches a step",
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=workers))
    with run.profile(wait=8, active=10) as prof:
        run.begin()
        for i, (x, y) in enumerate(loader):
            run.got()
            step(x, y)
            full = i % 4 == 3
            over = run.done(steps=int(full))
            if full:
                prof.step()
            if over:
                break


if __name__ == "__main__":
    kit.main(build, __file__)
