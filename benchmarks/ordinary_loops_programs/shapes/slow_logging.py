"""Every few steps the loop writes a checkpoint and a log line, slowly. The loader is fine.

Planted: checkpoint() in the loop takes 50 to 110 ms every 2 to 4 steps. No data wait is planted.
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


def checkpoint(ms: float, mode: str, weights: torch.Tensor, path: str) -> None:
    torch.save(weights, path)
    kit.plant(ms, mode)


def build(run: kit.Run) -> None:
    ms, mode, every = run.ms(50, 110), run.mode("sleep", "numpy"), run.pick(2, 3, 4)
    run.truth(
        "host",
        [],
        verdict=["host", "device", "balanced", "unknown"],
        what="time",
        about=f"checkpoint() {mode} {ms} ms every {every} steps",
    )
    step, weights = Train(run, 14), torch.rand(200000)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=run.pick(0, 1, 2)))
    with run.profile() as prof:
        run.begin()
        for i, (x, y) in enumerate(prof.steps(loader)):
            run.got()
            step(x, y)
            if i % every == 0:
                checkpoint(ms, mode, weights, f"{run.out}/last.pt")
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
