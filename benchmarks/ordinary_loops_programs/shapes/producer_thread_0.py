"""A thread iterates the loader (0 workers) into a queue; the loop takes from the queue.

Planted: one of four transforms takes 1.6 to 2.6 ms for each of a batch's 8 samples.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, slow_one


class Background:
    def __init__(self, loader: DataLoader[Any], depth: int) -> None:
        self.loader, self.depth = loader, depth

    def _fill(self, q: queue.Queue[Any], stop: threading.Event) -> None:
        for batch in self.loader:
            while not stop.is_set():
                try:
                    q.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    pass
            if stop.is_set():
                return
        q.put(None)

    def __iter__(self) -> Iterator[Any]:
        q, stop = queue.Queue(self.depth), threading.Event()
        t = threading.Thread(target=self._fill, args=(q, stop), daemon=True)
        t.start()
        try:
            while (batch := q.get()) is not None:
                yield batch
        finally:
            stop.set()
            t.join(5)


def build(run: kit.Run) -> None:
    ms, mode = run.ms(1.6, 2.6), run.mode()
    transform, name = slow_one(run, ms, mode)
    run.truth(f"transform::{name}", [f"transform::{name}"], about=f"{mode} {ms:.2f} ms x 8, 0 workers")
    step = Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=0))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(Background(loader, 3)):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
