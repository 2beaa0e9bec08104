"""Steps are slow until the window opens (warm-up of kernels), so buffers are full; then workers cannot keep up.

Planted: one of four transforms takes 3.5 to 5 ms a sample; it limits the loop only once the buffers are drained.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


def build(run: kit.Run) -> None:
    ms, mode, wait = run.ms(3.5, 5), run.mode(), 10
    transform, name = slow_one(run, ms, mode)
    run.truth(
        f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms} ms x 8, 8 batches ready as the window opens"
    )
    early, late = Train(run, 70), Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=2, prefetch_factor=4))
    with run.profile(wait=wait, active=20) as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            (early if run.step < wait + 2 else late)(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
