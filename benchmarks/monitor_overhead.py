"""What a monitor costs: throughput of a loader with `annotate.monitor` on, as a share of that with it off.

    python benchmarks/monitor_overhead.py [--rounds 40] [--workers 1 0] [--every 10 1] [--check]

Runs are ABAB-paired, in an order that turns round from one pair to the next: an epoch without the monitor and an epoch
with it stand side by side, so what the machine does meanwhile meets both. Printed are the median of the paired ratios
(1.00: costs nothing), the range that holds the middle half of them, and by how much the CPU time of an epoch rises in
workers and training process together, which other programs disturb less. `--check` exits with status 1 when a median is
below its budget.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import PIL.Image
import torch
from torch.utils.data import DataLoader, Dataset

import annotate

BUDGETS = {"JPEG, 5 ms a sample": 0.99, "20 transforms of 5 us": 0.90}
TRANSFORM_US = 5


class Photos(Dataset[torch.Tensor]):
    """Reads, decodes, crops and converts a JPEG file: about 5 ms a sample."""

    def __init__(self, paths: list[str], size: int) -> None:
        self.paths = paths
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> torch.Tensor:
        with open(self.paths[index % len(self.paths)], "rb") as file:
            image = PIL.Image.open(io.BytesIO(file.read())).convert("RGB")
        image = image.resize((224, 224))
        return torch.from_numpy(np.asarray(image).copy())


class Spin:
    def __call__(self, value: int) -> int:
        end = time.perf_counter_ns() + 1000 * TRANSFORM_US
        while time.perf_counter_ns() < end:
            pass
        return value


class Tiny(Dataset[int]):
    """20 transforms of 5 us each, and nothing else."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.transform = annotate.compose([Spin() for _ in range(20)])

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return self.transform(index)


def cpu_ns(pids: list[int]) -> int:
    """CPU time of all threads of these processes so far, nanoseconds."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def epoch(loader: Any) -> tuple[float, int]:
    """Seconds and CPU nanoseconds from the first batch to the last: workers are running, and the queues are full."""
    iterator = iter(loader)
    next(iterator)
    pids = [os.getpid(), *(worker.pid for worker in getattr(iterator, "_workers", ()))]
    cpu, begin = cpu_ns(pids), time.perf_counter()
    for _ in range(len(loader) - 1):  # the workers end with the epoch
        next(iterator)
    return time.perf_counter() - begin, cpu_ns(pids) - cpu


def loader_of(dataset: Any, workers: int) -> Any:
    """Its workers are new ones in each epoch: of two alike, one is up to 7 % faster all its life."""
    return DataLoader(dataset, batch_size=16, num_workers=workers)


def compare(dataset: Any, workers: int, every: int, rounds: int) -> tuple[list[float], float]:
    """Throughput with over throughput without, pair by pair; the median of the same for CPU time."""
    off, on = loader_of(dataset, workers), loader_of(dataset, workers)
    sink = io.StringIO()
    annotate.monitor(on, every=every, file=sink)
    try:
        found, cpus = [], []
        for number in range(rounds + 1):
            pair = [off, on] if number % 2 else [on, off]
            taken = {id(loader): epoch(loader) for loader in pair}
            found.append(taken[id(off)][0] / taken[id(on)][0])
            cpus.append(taken[id(on)][1] / taken[id(off)][1])
    finally:
        annotate.monitor(on, every=0)
    assert sink.getvalue().count("\n") > 1, "the monitor printed nothing"
    return found[1:], median(cpus[1:])  # the first warms up


def photos(folder: Path) -> list[str]:
    """Eight noisy JPEG files, as large as makes 5 ms a sample on most machines."""
    rng = np.random.default_rng(0)
    paths = []
    for number in range(8):
        small = PIL.Image.fromarray(rng.integers(0, 255, (60, 80, 3), dtype=np.uint8))
        path = folder / f"{number}.jpg"
        small.resize((800, 600)).save(path, quality=90)
        paths.append(str(path))
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="pairs of epochs")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 0])
    parser.add_argument("--every", type=int, nargs="+", default=[10, 1])
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a budget is exceeded")
    options = parser.parse_args()
    exceeded = False
    with tempfile.TemporaryDirectory() as folder:
        datasets = {"JPEG, 5 ms a sample": Photos(photos(Path(folder)), 160), "20 transforms of 5 us": Tiny(4800)}
        begin = time.perf_counter()
        for index in range(20):
            datasets["JPEG, 5 ms a sample"][index]
        sample_ms = (time.perf_counter() - begin) * 50
        print(f"torch {torch.__version__}, {os.cpu_count()} cores; a JPEG sample takes {sample_ms:.1f} ms here")
        print(f"{'pipeline':24}{'workers':>8}{'every':>7}{'on/off':>9}{'middle half':>17}{'CPU time':>11}")
        for name, dataset in datasets.items():
            for workers in options.workers:
                for every in options.every:
                    found, cpu = compare(dataset, workers, every, options.rounds)
                    low, _, high = quantiles(found, n=4)
                    exceeded |= every >= 10 and median(found) < BUDGETS[name]
                    print(
                        f"{name:24}{workers:8}{every:7}{median(found):9.3f}   {low:.3f} to {high:.3f}{cpu - 1:+11.1%}",
                        flush=True,
                    )
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
