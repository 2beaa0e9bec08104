"""Every few steps the loop evaluates on tensors that it has: a pause that is not the loader's.

Planted: evaluate() in the loop takes 90 to 180 ms every 5 to 7 steps. No data wait is planted.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


def evaluate(ms: float, mode: str) -> None:
    kit.plant(ms, mode)


def build(run: kit.Run) -> None:
    ms, mode, every = run.ms(90, 180), run.mode("sleep", "numpy"), run.pick(5, 6, 7)
    run.truth(
        "host",
        [],
        verdict=["host", "device", "balanced", "unknown"],
        what="time",
        about=f"evaluate() {mode} {ms} ms every {every} steps",
    )
    step = Train(run, 14)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=run.pick(1, 2)))
    with run.profile() as prof:
        run.begin()
        for i, (x, y) in enumerate(prof.steps(loader)):
            run.got()
            step(x, y)
            if i % every == every - 1:
                evaluate(ms, mode)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
