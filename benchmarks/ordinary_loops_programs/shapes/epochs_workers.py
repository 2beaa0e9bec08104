"""Five short epochs in the window, two workers that start anew each time and open an index first.

Planted: worker_init_fn takes 60 to 120 ms; the truth is the time from iter() until worker 0 is ready.
"""

from __future__ import annotations

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


class OpenIndex:
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, worker_id: int) -> None:
        if kit.PLANTED:
            kit.work(self.ms, self.mode)
        if worker_id == 0:  # the loop waits for worker 0 first: from iter() until it is ready
            kit.note("plant", kit.EPOCH_T0)


def build(run: kit.Run) -> None:
    ms, mode = run.ms(60, 120), run.mode()
    run.truth("startup", ["startup"], words=r"persistent_workers|start-?up", about=f"worker_init_fn {mode} {ms} ms")
    step = Train(run, 12)
    loader = run.loader(
        DataLoader(Pictures(quick(), n=24), batch_size=4, num_workers=2, worker_init_fn=OpenIndex(ms, mode))
    )
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
