"""A class between loader and loop that packs each batch itself.

Planted: the class's __next__ takes 9 to 16 ms a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


class Packer:
    def __init__(self, loader: DataLoader[Any], ms: float, mode: str) -> None:
        self.loader, self.ms, self.mode = loader, ms, mode

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        self.it = iter(self.loader)
        return self

    def __next__(self) -> Any:
        x, y = next(self.it)
        kit.plant(self.ms, self.mode)
        return x.flatten(1), y


def build(run: kit.Run) -> None:
    ms, mode, workers = run.ms(9, 16), run.mode("sleep", "numpy", "pil", "python"), run.pick(0, 1, 2)
    run.truth("wrapper::Packer", [r"wrapper::.*Packer.*"], about=f"{mode} {ms} ms a batch, {workers} workers")
    step = Train(run, 10)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(Packer(loader, ms, mode)):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
