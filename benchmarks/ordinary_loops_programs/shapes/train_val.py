"""Training and validation loaders in alternation; the validation set has the slow transform.

Planted: one of the validation set's four transforms takes 5 to 8 ms a sample.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick, slow_one


class Validation(Pictures):
    pass


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(5, 8), run.mode(), run.pick(0, 1)
    transform, name = slow_one(run, ms, mode)
    run.truth(
        f"transform::{name}",
        [f"transform::{name}"],
        about=f"{mode} {ms} ms x 8 in the validation set, {workers} workers in training",
    )
    step = Train(run, 12)
    train = run.loader(
        DataLoader(Pictures(quick(), n=120), batch_size=8, num_workers=workers, persistent_workers=workers > 0)
    )
    val = run.loader(DataLoader(Validation(transform, n=32), batch_size=8, num_workers=1, persistent_workers=True))
    with run.profile(wait=18, active=30) as prof:
        while not run.over:
            run.begin()
            for x, y in train:
                run.got()
                step(x, y)
                over = run.done()
                prof.step()
                if over:
                    break
            if run.over:
                break
            run.begin()
            for x, y in val:
                run.got("val")
                step(x, y)
                run.done(steps=0)


if __name__ == "__main__":
    kit.main(build, __file__)
