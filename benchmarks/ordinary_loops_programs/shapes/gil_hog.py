"""A thread of the training process (metrics in Python) holds the interpreter's lock; the workers are mostly idle.

Planted: a thread of pure Python that computes 40 to 90 ms at a time. The truth is the data wait as a whole.
"""

from __future__ import annotations

import threading
import time

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick


class Metrics(threading.Thread):
    def __init__(self, busy: float) -> None:
        super().__init__(daemon=True)
        self.busy, self.stop = busy, False

    def run(self) -> None:
        while not self.stop:
            t0 = time.perf_counter()
            while time.perf_counter() - t0 < self.busy / 1e3:
                x = 0
                for i in range(20000):
                    x += i * i % 7
            time.sleep(0.001)


def build(run: kit.Run) -> None:
    busy, workers = run.ms(40, 90), run.pick(1, 2)
    run.truth(
        "transfer, limited by the interpreter's lock",
        [r"transfer(::.*)?", "unrecorded", "other"],
        verdict=[],
        words=r"\bGIL\b|interpreter",
        what="all",
        about=f"a thread computes {busy} ms at a time, {workers} workers",
    )
    step = Train(run, 8)
    loader = run.loader(DataLoader(Pictures(quick()), batch_size=8, num_workers=workers))
    if kit.PLANTED:
        Metrics(busy).start()
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
