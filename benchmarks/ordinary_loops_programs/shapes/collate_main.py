"""No workers; the collate function pads slowly.

Planted: the collate function, or object, takes 9 to 18 ms a batch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick

SLOW = [0, "sleep"]


def pad_collate(samples: list[Any]) -> Any:
    kit.plant(*SLOW)
    return torch.stack([s[0] for s in samples]), torch.tensor([s[1] for s in samples])


class PadCollate:
    def __call__(self, samples: list[Any]) -> Any:
        return pad_collate(samples)


def build(run: kit.Run) -> None:
    SLOW[:] = run.ms(9, 18), run.mode("sleep", "numpy", "python")
    as_class = run.pick(True, False)
    name = "PadCollate" if as_class else "pad_collate"
    run.truth(f"collate::{name}", [f"collate::{name}"], about=f"{SLOW[1]} {SLOW[0]} ms, no workers")
    step = Train(run, 8, torch_op=True)
    loader = run.loader(
        DataLoader(Pictures(quick()), batch_size=8, collate_fn=PadCollate() if as_class else pad_collate)
    )
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
