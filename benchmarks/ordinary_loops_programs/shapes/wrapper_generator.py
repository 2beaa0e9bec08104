"""A generator between loader and loop.

Planted: the generator takes 9 to 16 ms a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


def to_patches(loader: DataLoader[Any], ms: float, mode: str) -> Iterator[Any]:
    for x, y in loader:
        kit.plant(ms, mode)
        yield x.unfold(2, 8, 8), y


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(9, 16), run.mode("sleep", "numpy", "pil", "python"), run.pick(0, 1, 2)
    run.truth("wrapper::to_patches", [r"wrapper::.*to_patches.*"], about=f"{mode} {ms} ms a batch, {workers} workers")
    step = Train(run, 10)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(to_patches(loader, ms, mode)):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
