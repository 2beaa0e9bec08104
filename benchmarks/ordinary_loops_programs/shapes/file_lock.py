"""Workers share one file lock, held while a record is read: together they are no faster than one.

Planted: reading a record takes 2.5 to 4 ms under the lock; the truth has the wait for the lock in it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.ordinary_loops_programs import kit
from benchmarks.ordinary_loops_programs.augmentations import Train


class Locked(Dataset):
    def __init__(self, ms: float, mode: str) -> None:
        self.ms, self.mode, self.fd = ms, mode, None
        self.path = tempfile.mkstemp(dir=kit.OUT)[1]

    def __len__(self) -> int:
        return 100000

    def _record(self, i: int) -> torch.Tensor:
        if not kit.PLANTED:
            return torch.zeros(3, 32, 32)
        if self.fd is None:
            self.fd = os.open(self.path, os.O_RDWR)
        t0 = time.perf_counter()
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        try:
            kit.work(self.ms, self.mode)
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        kit.note("plant", t0)  # waiting for the lock, and holding it
        return torch.zeros(3, 32, 32)

    def __getitem__(self, i: int) -> Any:
        return self._record(i), i


def build(run: kit.Run) -> None:
    ms, mode = run.ms(2.5, 4), run.mode("sleep", "numpy")
    run.truth(
        "sample::Locked", [r"sample::Locked.*", r".*_record.*", r"read::.*"], about=f"{mode} {ms} ms under the lock x 6"
    )
    step = Train(run, 6)
    loader = run.loader(DataLoader(Locked(ms, mode), batch_size=6, num_workers=2))
    with run.profile() as prof:
        run.begin()
        for x, y in prof.steps(loader):
            run.got()
            step(x, y)
            if run.done():
                break


if __name__ == "__main__":
    kit.main(build, __file__)
