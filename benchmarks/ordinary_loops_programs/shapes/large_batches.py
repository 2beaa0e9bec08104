"""Transform-limited workers with sizeable batches (2 to 4 MB).

Planted: one of four transforms takes 1.6 to 2.4 ms for each of a batch's 24 samples.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode, size = run.ms(1.6, 2.4), run.mode("numpy", "pil", "sleep"), run.pick(97, 121)
    transform, name = slow_one(run, ms, mode)
    run.truth(
        f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms} ms x 24, 24 x 3 x {size} x {size}, 2 workers"
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform, size=size), batch_size=24, num_workers=2))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
