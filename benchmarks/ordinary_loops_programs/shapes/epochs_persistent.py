"""Short epochs, persistent workers: each begins with empty buffers, its first batch waited for from its first sample.

Planted: one of four transforms takes 4 to 7 ms for each of a batch's 8 samples.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode = run.ms(4, 7), run.mode()
    transform, name = slow_one(run, ms, mode)
    run.truth(f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms} ms x 8")
    step = Train(run, ms * 8 / 2 * 1.15 + 2)
    loader = run.loader(DataLoader(Pictures(transform, n=48), batch_size=8, num_workers=2, persistent_workers=True))
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
