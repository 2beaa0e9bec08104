"""Each epoch is broken off after a few of its many batches; the workers cannot keep up with the loop.

Planted: one of four transforms takes 5 to 8 ms for each of a batch's 8 samples.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode, cut = run.ms(5, 8), run.mode("sleep", "numpy"), run.pick(8, 10, 12)
    transform, name = slow_one(run, ms, mode)
    run.truth(f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms} ms x 8, broken off after {cut}")
    step = Train(run, 10)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=2))
    with run.profile(wait=15, active=24) as prof:
        while not run.over:
            run.begin()
            for i, (x, y) in enumerate(prof.steps(loader)):
                run.got()
                step(x, y)
                if run.done() or i + 1 == cut:
                    break


if __name__ == "__main__":
    kit.main(build, __file__)
