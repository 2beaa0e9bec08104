"""An IterableDataset whose own thread fetches the samples; its __iter__ only takes them from a queue.

Planted: the thread takes 1.8 to 2.8 ms a sample for each worker.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train


class RemoteStream(IterableDataset):
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode = ms, mode

    def _fetch(self, q: queue.Queue[Any]) -> None:
        i = 0
        while True:
            kit.plant(self.ms, self.mode)
            q.put(torch.full((3, 32, 32), float(i % 9)))
            i += 1

    def __iter__(self) -> Iterator[Any]:
        q = queue.Queue(16)
        threading.Thread(target=self._fetch, args=(q,), daemon=True).start()
        while True:
            yield q.get()


def build(run: kit.Run) -> None:
    workers, mode = run.pick(1, 2), run.mode("sleep", "numpy")
    ms = run.ms(1.8, 2.8) * workers
    run.truth(
        "sample::RemoteStream",
        [r"sample::RemoteStream.*", r".*_fetch.*"],
        about=f"{mode} {ms:.2f} ms x 8 in its thread, {workers} workers",
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(RemoteStream(ms, mode), batch_size=8, num_workers=workers))
    with run.profile() as prof:
        run.begin()
        for x in prof.steps(loader):
            run.got()
            step(x)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
