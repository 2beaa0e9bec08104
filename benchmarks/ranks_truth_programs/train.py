"""One gloo rank on the CPU that is slow in a planted way: ``python train.py LOGDIR FAULT RANK|roam WAY MILLISECONDS``.

FAULT: decode, storage, gil, backward, none. WAY: ddp, or sum (an all_reduce of each gradient). ``roam``: another rank
in each step. Start it with torchrun.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import annotate

BATCH, STEPS = 4, 16
LOGDIR, FAULT, WHO, WAY, DELAY_S = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]) / 1e3


class Planted:
    """Whether this rank is slow now."""

    step = 0

    @classmethod
    def here(cls, step: int) -> bool:
        slow = step * 7 % dist.get_world_size() if WHO == "roam" else int(WHO)
        return slow == dist.get_rank()


class Pictures(Dataset[Any]):
    def __init__(self, file: Path) -> None:
        self.file, self.rank, self.ranks = file, dist.get_rank(), dist.get_world_size()

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> Any:
        batch = index // self.ranks // BATCH
        slow = (batch * 7 % self.ranks if WHO == "roam" else int(WHO)) == self.rank
        with annotate.stage("read", "file"):
            self.file.read_bytes()
            time.sleep(DELAY_S / BATCH if slow and FAULT == "storage" else 0.0002)
        with annotate.stage("decode", "jpeg"):
            time.sleep(DELAY_S / BATCH if slow and FAULT == "decode" else 0.0004)
        return torch.ones(64)


class Late(torch.autograd.Function):
    """Nothing, and late on the way back."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        if FAULT == "backward" and Planted.here(Planted.step):
            time.sleep(DELAY_S)
        return gradient


def hold_the_lock(stop: threading.Event) -> None:
    """A thread of the program that keeps Python's lock for most of its time."""
    while not stop.is_set():
        until = time.perf_counter() + DELAY_S / 8
        while time.perf_counter() < until:
            pass
        time.sleep(0.0005)


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    file = Path(LOGDIR) / f"data{dist.get_rank()}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(10_000))
    data = Pictures(file)
    sampler = DistributedSampler(data, shuffle=False)
    workers = 0 if WHO == "roam" else 1  # a worker that is late now and then has its batches ready all the same
    loader = annotate.loader(DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=workers))
    stop = threading.Event()
    if FAULT == "gil" and Planted.here(0):
        threading.Thread(target=hold_the_lock, args=(stop,), daemon=True).start()
    try:
        train(loader)
    finally:
        stop.set()
    dist.barrier()
    dist.destroy_process_group()


def train(loader: Any) -> None:
    model: nn.Module = nn.Sequential(nn.Linear(64, 128), nn.Linear(128, 1))
    if WAY == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with annotate.profile(LOGDIR, wait=1, warmup=2, active=STEPS) as prof:
        for step, batch in enumerate(prof.steps(loader)):
            Planted.step = step
            Late.apply(model(batch)).sum().backward()
            if WAY == "sum":
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
            optimizer.step()
            optimizer.zero_grad()
            if step >= STEPS + 4:
                break


if __name__ == "__main__":
    main()
