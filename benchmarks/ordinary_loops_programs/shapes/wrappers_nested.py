"""Two wrappers, a class around a generator; one of them is slow.

Planted: the generator, or the class around it, takes 9 to 16 ms a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


def to_patches(loader: DataLoader[Any], ms: float, mode: str) -> Iterator[Any]:
    for x, y in loader:
        if ms:
            kit.plant(ms, mode)
        yield x.unfold(2, 8, 8), y


class Mixup:
    def __init__(self, inner: Iterable[Any], ms: float, mode: str) -> None:
        self.inner, self.ms, self.mode = inner, ms, mode

    def __iter__(self) -> Iterator[Any]:
        self.it = iter(self.inner)
        return self

    def __next__(self) -> Any:
        x, y = next(self.it)
        if self.ms:
            kit.plant(self.ms, self.mode)
        return x * 0.5 + x.flip(0) * 0.5, y


def build(run: kit.Run) -> None:
    ms, mode, workers, slow = (
        run.ms(9, 16),
        run.mode("sleep", "numpy", "pil"),
        run.pick(0, 1),
        run.pick("to_patches", "Mixup"),
    )
    run.truth(f"wrapper::{slow}", [rf"wrapper::.*{slow}.*"], about=f"{mode} {ms} ms a batch, {workers} workers")
    step = Train(run, 10)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=workers))
    batches = Mixup(to_patches(loader, ms if slow == "to_patches" else 0, mode), ms if slow == "Mixup" else 0, mode)
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(batches):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
