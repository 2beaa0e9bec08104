"""What `annotate.watch` costs: CPU time for each batch and for each interval, as a share of a loop of 5 ms samples.

    python benchmarks/watch_overhead.py [--workers 0 1] [--processes 20] [--blocks 40] [--batches 50] [--check]
    python benchmarks/watch_overhead.py --out FILE.json --minutes 2     again with the same file: goes on

Each process has two loaders of the same samples, a plain one that annotate does not know and a watched one, and takes
blocks of batches of one sample from either in turn: whatever differs between processes is the same for both, and the
interval is that of the differences. Between two batches the loop, and in each sample its maker, go through `--memory`
MiB, so that our code is met with caches as cold as in a real loop. CPU time is that of all threads of the training
process, and of the loader's worker.

By themselves are measured: an interval (reading the machine, writing its line and points; what the watcher of Python's
lock uses in one stretch), and without workers a batch that has its stages measured, which comes once in two seconds.
The share is that of a loop with batches of 16 samples of 5 ms each, made by one process; `--check` exits with status 1
where the whole 95% interval of it is above the budget.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

BUDGET = 0.002
BATCHES_PER_S = 12.5
"""Of 16 samples of 5 ms, as one process makes them."""
INTERVAL_S = 10
MEASURED_PER_S = 0.5
"""Batches that have their stages measured, without workers."""
INTERVALS = 20
PSS_EVERY = 7
"""Intervals from one reading of PSS to the next, which is due once a minute or less often."""
MEASURED = 40


class Samples:
    """Each goes through some memory."""

    def __init__(self, length: int, mib: float) -> None:
        self.length, self.memory = length, np.ones(int(mib * 2**17))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        self.memory.sum()
        return index


def cpu_us(pids: list[int]) -> float:
    """CPU time of all threads of these processes so far."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000


class Side:
    """One of the two loaders, and what was used for its batches."""

    def __init__(self, loader: Any) -> None:
        self.iterator = iter(loader)
        self.workers = [worker.pid for worker in getattr(self.iterator, "_workers", ())]
        self.batches = 0
        self.own_us = self.wall_s = 0.0

    def take(self, batches: int, between: Callable[[], object]) -> None:
        call = call_of(self.iterator)
        if call is not None:
            call._previous = 0  # the other side's block is no step of this loop
        before, began = cpu_us([os.getpid()]), time.perf_counter()
        for _ in range(batches):
            next(self.iterator)
            between()
        self.own_us += cpu_us([os.getpid()]) - before
        self.wall_s += time.perf_counter() - began
        self.batches += batches


def call_of(iterator: Any) -> Any:
    """The watcher's, around the ``next()`` of a loader that is watched."""
    from annotate.monitoring import next_calls

    return next(iter(next_calls._calls.get(iterator, {}).values()), None)


def child(workers: int, blocks: int, batches: int, mib: float) -> dict[str, float]:
    """One process: CPU microseconds for each batch of either side, each interval, and each measured batch."""
    from torch.utils.data import DataLoader

    import annotate
    from annotate.host.lock_share import EVERY_S, LockShare
    from annotate.whole_run import current

    data: Any = Samples((blocks + 4) * batches + 4 * MEASURED + INTERVALS, mib)
    memory = np.ones(int(mib * 2**17))
    with tempfile.TemporaryDirectory() as folder:
        plain = Side(DataLoader(data, batch_size=1, num_workers=workers))
        loader = DataLoader(data, batch_size=1, num_workers=workers)
        annotate.watch(loader, logdir=folder, interval_s=3600, captures=0)
        share = LockShare(0.0)
        share.begin()  # now, so that it has saved as much as it may use in a stretch
        sides = plain, Side(loader)
        for side in sides:
            side.take(batches, memory.sum)
            side.batches, side.own_us, side.wall_s = 0, 0.0, 0.0
        before = [cpu_us(side.workers) for side in sides]
        for block in range(blocks):
            sides[block % 4 in (1, 2)].take(batches, memory.sum)
        theirs = [cpu_us(side.workers) - start for side, start in zip(sides, before, strict=True)]
        each = [(side.own_us + used) / side.batches for side, used in zip(sides, theirs, strict=True)]
        measured_us = 0.0 if workers else measured_extra_us(sides[1].iterator, memory.sum)
        recorder = current.current()
        assert recorder is not None
        begin = time.thread_time()
        for number in range(INTERVALS):
            next(sides[1].iterator)
            if number % PSS_EVERY == 0:
                recorder._machine._pss_due = 0
            recorder._write_interval()
        interval_us = (time.thread_time() - begin) / INTERVALS * 1e6
        lock_us = stretch_us(share)
        annotate.off()
    return {
        "plain_us": each[0],
        "watched_us": each[1],
        "measured_us": measured_us,
        "interval_us": interval_us + lock_us * INTERVAL_S / EVERY_S,
        "lock_us": lock_us * INTERVAL_S / EVERY_S,
        "rate": plain.wall_s / sides[1].wall_s,
    }


def measured_extra_us(iterator: Any, between: Callable[[], object]) -> float:
    """What a batch costs more whose stages are measured, in the training process."""
    call = call_of(iterator)
    used = [0.0, 0.0]
    for turn in range(2 * MEASURED):
        is_measured = turn % 4 in (1, 2)
        call._measure_at = 0 if is_measured else sys.maxsize
        begin = time.thread_time()
        next(iterator)
        used[is_measured] += (time.thread_time() - begin) * 1e6
        between()
    return (used[1] - used[0]) / MEASURED


def stretch_us(share: Any) -> float:
    """CPU time of the watcher of Python's lock, for a stretch as there is one in each `EVERY_S`."""
    from annotate.host.lock_share import STRETCH_S

    share.turn(share.due, threading.get_native_id())
    time.sleep(STRETCH_S)
    share.turn(share.due, None)
    share.end()
    return float(share.cpu_ns) / 1000


def interval(values: list[float]) -> tuple[float, float]:
    """The mean, and half of its 95% interval."""
    return mean(values), 2.1 * stdev(values) / len(values) ** 0.5


def judge(workers: int, found: list[dict[str, float]]) -> bool:
    """Print what was found; True where it is above the budget for certain."""
    cost, half = interval([run["watched_us"] - run["plain_us"] for run in found])
    by_time = [run["interval_us"] / INTERVAL_S + run["measured_us"] * MEASURED_PER_S for run in found]
    shares = [
        ((run["watched_us"] - run["plain_us"]) * BATCHES_PER_S + each) / 1e6
        for run, each in zip(found, by_time, strict=True)
    ]
    share, width = interval(shares)
    rate, spread = interval([run["rate"] for run in found])
    parts = {name: mean(run[name] for run in found) for name in found[0]}
    print(
        f"{workers} workers, {len(found)} processes: {cost:.1f} ± {half:.1f} us CPU for each batch "
        f"(plain: {parts['plain_us']:.0f}), {parts['interval_us']:.0f} us for each interval of {INTERVAL_S} s "
        f"({parts['lock_us']:.0f} of them looking at Python's lock), {parts['measured_us']:.0f} us for each of "
        f"{MEASURED_PER_S if not workers else 0} measured batches per s: {share:.3%} ± {width:.3%} of one CPU at "
        f"{BATCHES_PER_S} batches/s (budget {BUDGET:.1%}); empty batches/s watched/plain {rate:.3f} ± {spread:.3f}; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs",
        flush=True,
    )
    return share - width > BUDGET


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=20, help="for each number of workers")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--batches", type=int, default=50, help="of a block")
    parser.add_argument("--memory", type=float, default=2.0, help="MiB")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--out", type=Path, help="where results are kept, and gone on from")
    parser.add_argument("--minutes", type=float, default=600.0, help="no process begins later")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", type=int)
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(child(options.child, options.blocks, options.batches, options.memory)))
        return 0
    kept = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    began, exceeded = time.monotonic(), False
    sizes = ["--blocks", str(options.blocks), "--batches", str(options.batches), "--memory", str(options.memory)]
    for workers in options.workers:
        found = kept.setdefault(str(workers), [])
        while len(found) < options.processes and time.monotonic() - began < 60 * options.minutes:
            command = [sys.executable, __file__, "--child", str(workers), *sizes]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append(json.loads(output.splitlines()[-1]))
            if options.out:
                options.out.write_text(json.dumps(kept))
        exceeded |= len(found) > 1 and judge(workers, found)
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
