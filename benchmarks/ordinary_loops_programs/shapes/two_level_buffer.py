"""Loader -> thread -> queue -> wrapper -> loop. Slow is the wrapper, or a transform behind the queue.

Planted: the wrapper takes 9 to 16 ms a batch, or one of four transforms takes as much for a batch.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Pictures, Train, quick, slow_one


def background(loader: DataLoader[Any], depth: int = 4) -> Iterator[Any]:
    q, stop = queue.Queue(depth), threading.Event()

    def fill() -> None:
        for batch in loader:
            while not stop.is_set():
                try:
                    q.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    pass
            if stop.is_set():
                return
        q.put(None)

    t = threading.Thread(target=fill, daemon=True)
    t.start()
    try:
        while (batch := q.get()) is not None:
            yield batch
    finally:
        stop.set()
        t.join(5)


class Pack:
    def __init__(self, batches: Iterable[Any], ms: float, mode: str) -> None:
        self.batches, self.ms, self.mode = batches, ms, mode

    def __iter__(self) -> Iterator[Any]:
        for x, y in self.batches:
            if self.ms:
                kit.plant(self.ms, self.mode)
            yield x.flatten(1), y


def build(run: kit.Run) -> None:
    mode, workers, where = run.mode(), run.pick(0, 1, 2), run.pick("wrapper", "transform")
    transform, name, ms = quick(), "", run.ms(9, 16)
    if where == "transform":
        per = ms / 8 * max(1, workers)
        transform, name = slow_one(run, per, mode)
        run.truth(f"transform::{name}", [f"transform::{name}"], about=f"{mode} {per:.2f} ms x 8, {workers} workers")
    else:
        run.truth("wrapper::Pack", [r"wrapper::.*Pack.*"], about=f"{mode} {ms} ms a batch, {workers} workers")
    step = Train(run, 6)
    loader = run.loader(DataLoader(Pictures(transform), batch_size=8, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(Pack(background(loader), ms if where == "wrapper" else 0, mode)):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
