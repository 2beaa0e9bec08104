"""Whether recording in DataLoader workers keeps its throughput budget: one batch recorded, the next one not.

    python benchmarks/worker_pairs.py [--seconds 60] [--workers 1 2] [--check]

A loader's workers make batches as fast as they can, and record every other one (in ABBA order): neighbours are some
milliseconds apart, so what else the machine does meets both, and never are two workers compared, which differ by
several per cent for as long as they live. Each round has new workers. Two ratios are taken of each pair of neighbours:
of the time from batch to batch (off / on: the throughput of a loader whose workers are the bottleneck), and of the CPU
time of the whole worker process (on / off). Printed are the medians, less 1, and the intervals that hold the true ones
with 95 % confidence (by order statistics: nothing is assumed of the noise). A budget is kept when the whole interval is
below it, missed when it is above, else not decided. `--check` exits with status 1 when one is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from math import sqrt
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, default_collate
from worker_overhead import make_dataset

import annotate
from annotate.capture.session import Session
from annotate.recording import switch
from annotate.workers import transport

ROUND_SECONDS = 5
PIPELINES = (("(a) JPEG, about 5 ms a sample", "jpeg", 8, 0.01), ("(b) 20 transforms of 5 us", "tiny", 64, 0.10))


class Cost(NamedTuple):
    """Of one batch in its worker; nanoseconds."""

    worker: int
    number: int
    recorded: bool
    wall: int
    cpu: int


class Switch:
    """In a worker: turns recording on and off as batches begin, and notes what each took."""

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.last: Cost | None = None
        self.number = -2
        self.wall = self.cpu = 0
        begun = transport.begun
        assert begun is not None, "this worker does not record"
        self.begun = begun
        transport.begun = self

    def __call__(self, iteration: int, batch: int) -> None:
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        self.last = Cost(self.worker, self.number, switch.RECORDING, wall - self.wall, cpu - self.cpu)
        self.number += 1
        switch.set_recording(self.number % 4 in (0, 3))
        self.wall, self.cpu = time.perf_counter_ns(), time.process_time_ns()
        self.begun(iteration, batch)


alternator: Switch | None = None


def collate(batch: list[Any]) -> tuple[Any, Cost | None]:
    """The batch, and what the one before it in this worker took."""
    global alternator
    info = torch.utils.data.get_worker_info()
    if alternator is None and info is not None:
        alternator = Switch(info.id)
    return default_collate(batch), None if alternator is None else alternator.last


def costs(kind: str, batch: int, workers: int, seconds: float) -> list[Cost]:
    """Of all batches that one set of workers makes in so long a time."""
    dataset = make_dataset(kind)
    loader = annotate.loader(DataLoader(dataset, batch, num_workers=workers, prefetch_factor=4, collate_fn=collate))
    session = Session()
    session.begin()
    try:
        iterator = iter(loader)
        assert session.workers.spool is not None
        session.workers.spool.open_window()
        found = []
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            _, cost = next(iterator)
            if cost is not None and cost.number >= 8:  # warmed up
                found.append(cost)
        return found
    finally:
        session.end()


def ratios(found: list[Cost]) -> tuple[list[float], list[float]]:
    """Of each pair of neighbours: throughput on / off, and CPU time on / off."""
    by_place = {(cost.worker, cost.number): cost for cost in found}
    walls, cpus = [], []
    for (worker, number), cost in by_place.items():
        other = by_place.get((worker, number + 1))
        if number % 2 == 0 and other is not None:
            on, off = (cost, other) if cost.recorded else (other, cost)
            assert on.recorded
            assert not off.recorded
            walls.append(off.wall / on.wall)
            cpus.append(on.cpu / off.cpu)
    return walls, cpus


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median less 1, and the bounds that hold the true one with 95 % confidence."""
    values = sorted(values)
    count = len(values)
    reach = 0.98 * sqrt(count)
    low, high = max(0, int(count / 2 - reach)), min(count - 1, int(count / 2 + reach) + 1)
    return values[count // 2] - 1, values[low] - 1, values[high] - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="per line")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a budget is missed")
    options = parser.parse_args()
    print(f"python {sys.version.split()[0]}, torch {torch.__version__}, {os.cpu_count()} cores")
    missed = False
    for name, kind, batch, budget in PIPELINES:
        for workers in options.workers:
            walls: list[float] = []
            cpus: list[float] = []
            for _ in range(max(1, round(options.seconds / ROUND_SECONDS))):
                one_walls, one_cpus = ratios(costs(kind, batch, workers, ROUND_SECONDS))
                walls += one_walls
                cpus += one_cpus
            (rate, low, high), (cpu, cpu_low, cpu_high) = interval(walls), interval(cpus)
            verdict = "kept" if -low < budget else "missed" if -high > budget else "not decided"
            missed |= verdict == "missed"
            print(
                f"{name:32}{workers} workers  throughput {rate:+.2%} ({low:+.2%} .. {high:+.2%})   CPU time "
                f"{cpu:+.2%} ({cpu_low:+.2%} .. {cpu_high:+.2%})   {len(walls)} pairs   budget {budget:.0%}: {verdict}",
                flush=True,
            )
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
