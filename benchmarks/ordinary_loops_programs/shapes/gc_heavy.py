"""A dataset of very many Python objects; each sample collects garbage, as memory advice on the web says.

Planted: gc.collect() in each __getitem__, with 32,000 to 48,000 containers alive; garbage is clocked by a gc callback.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train

_began = [0.0]


def clock(phase: str, info: dict[str, Any]) -> None:
    if phase == "start":
        _began[0] = time.perf_counter()
    else:
        kit.note(f"gc{info['generation']}", _began[0])


class Annotations(Dataset):
    def __init__(self, n: int) -> None:
        self.boxes = [{"id": i, "box": [i, i + 1, i + 2, i + 3]} for i in range(n)]

    def __len__(self) -> int:
        return 100000

    def __getitem__(self, i: int) -> Any:
        t0 = time.perf_counter()
        tree = []
        for b in self.boxes[i % 1000 : i % 1000 + 800]:  # a tree with cycles
            tree.append({"of": b, "up": tree})
        if kit.PLANTED:
            gc.collect()
        kit.note("plant", t0)
        return torch.full((3, 32, 32), float(len(tree))), i


def build(run: kit.Run) -> None:
    n, workers = run.pick(16000, 20000, 24000), run.pick(0, 1, 2)
    gc.callbacks.append(clock)
    run.truth(
        "sample::Annotations",
        [r"sample::Annotations.*"],
        about=f"gc.collect() per sample, {2 * n} containers, {workers} workers",
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Annotations(n), batch_size=2, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
