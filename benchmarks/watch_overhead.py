"""What `annotate.watch` costs: CPU time for each batch and for each interval, as a share of a loop of 5 ms samples.

    python benchmarks/watch_overhead.py [--processes 20] [--batches 4000] [--workers 0 1] [--check]

Each process iterates a loader of samples that cost next to nothing, in batches of one, either plain or watched; the two
alternate. CPU time is that of all threads of the training process and of its DataLoader workers. An interval's cost
(reading the machine, writing its line and points; what the watcher of Python's lock uses in one stretch) is timed by
itself. The share is that of a loop with batches of 16
samples of 5 ms each, made by one process; `--check` exits with status 1 where the whole 95%
interval of it is above the budget.
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
from pathlib import Path
from statistics import mean, stdev
from typing import Any

BUDGET = 0.002
BATCHES_PER_S = 12.5
"""Of 16 samples of 5 ms, as one process makes them."""
INTERVAL_S = 10


def cpu_us(pids: list[int]) -> float:
    """CPU time of all threads of these processes so far."""
    tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000


def child(is_watched: bool, workers: int, batches: int) -> dict[str, float]:
    """One process: CPU microseconds for each batch, and for each interval."""
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(range(batches + 200), batch_size=1, num_workers=workers)
    interval_us = lock_us = 0.0
    with tempfile.TemporaryDirectory() as folder:
        if is_watched:
            import annotate
            from annotate.host.lock_share import LockShare
            from annotate.whole_run import current

            annotate.watch(loader, logdir=folder, interval_s=3600)
            share = LockShare(0.0)
            share.begin()  # now, so that it has saved as much as it may use in a stretch
        iterator = iter(loader)
        for _ in range(100):
            next(iterator)
        pids = [os.getpid(), *(worker.pid for worker in getattr(iterator, "_workers", ()))]
        before, began = cpu_us(pids), time.perf_counter()
        for _ in range(batches):
            next(iterator)
        found = {
            "us": (cpu_us(pids) - before) / batches,
            "batches_per_s": batches / (time.perf_counter() - began),
        }
        recorder = current.current() if is_watched else None
        if recorder is not None:
            begin = time.thread_time()
            for _ in range(20):
                next(iterator)
                recorder._write_interval()
            interval_us = (time.thread_time() - begin) / 20 * 1e6
            lock_us = stretch_us(share)
            annotate.off()
    return {**found, "interval_us": interval_us + lock_us, "lock_us": lock_us}


def stretch_us(share: Any) -> float:
    """CPU time of the watcher of Python's lock, for a stretch as there is one in each ten seconds."""
    from annotate.host.lock_share import STRETCH_S

    share.turn(share.due, threading.get_native_id())
    time.sleep(STRETCH_S)
    share.turn(share.due, None)
    share.end()
    return float(share.cpu_ns) / 1000


def measure(workers: int, processes: int, batches: int) -> dict[bool, list[dict[str, float]]]:
    """By whether the loader was watched; the two alternate, in an order that turns round."""
    found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for turn in range(processes):
        is_watched = turn % 4 in (1, 2)
        arguments = [sys.executable, __file__, "--child", str(int(is_watched)), str(workers), str(batches)]
        output = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        found[is_watched].append(json.loads(output.splitlines()[-1]))
    return found


def difference(off: list[float], on: list[float]) -> tuple[float, float]:
    """Of the means, and half of its 95% interval."""
    spread = (stdev(off) ** 2 / len(off) + stdev(on) ** 2 / len(on)) ** 0.5
    return mean(on) - mean(off), 2.1 * spread


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--batches", type=int, default=4000)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", type=int, nargs=3)
    options = parser.parse_args()
    if options.child:
        is_watched, workers, batches = options.child
        print(json.dumps(child(bool(is_watched), workers, batches)))
        return 0
    exceeded = False
    for workers in options.workers:
        found = measure(workers, options.processes, options.batches)
        off, on = found[False], found[True]
        cost, half = difference([run["us"] for run in off], [run["us"] for run in on])
        interval = mean(run["interval_us"] for run in on)
        share, width = (cost * BATCHES_PER_S + interval / INTERVAL_S) / 1e6, half * BATCHES_PER_S / 1e6
        exceeded |= share - width > BUDGET
        rate = mean(run["batches_per_s"] for run in on) / mean(run["batches_per_s"] for run in off)
        print(
            f"{workers} workers: {cost:.1f} ± {half:.1f} us CPU for each batch "
            f"(plain: {mean(r['us'] for r in off):.1f}), "
            f"{interval:.0f} us for each interval of {INTERVAL_S} s ({mean(run['lock_us'] for run in on):.0f} of them "
            f"looking at Python's lock): {share:.2%} ± {width:.2%} of one CPU at "
            f"{BATCHES_PER_S} batches/s (budget {BUDGET:.1%}); empty batches/s watched/plain {rate:.2f}; "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs",
            flush=True,
        )
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
