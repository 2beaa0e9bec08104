"""What sampling stacks costs: CPU time of the sampler, and its effect on a loop of 5 ms samples.

    python -m benchmarks.lines_overhead [--workers 2] [--seconds 10] [--pairs 20]

The loop computes 5 ms of CPU time per sample in the training thread, while as many processes as there are workers do
the same. Pairs of half a second each, with stacks and without (the watcher samples in both), stand side by side in an
order that turns round from pair to pair. Printed are the sampler's CPU time as a share of one CPU, the rate that it
kept, and the median of the paired ratios of time per sample with a 95% interval of it (by order statistics).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from annotate.host import watcher
from annotate.host.watching import Watch
from benchmarks.watcher_overhead import sample, seconds_per_sample

BUDGET = 0.01


def compute(until: float) -> None:
    while time.time() < until:
        sample()


@contextmanager
def workers(count: int, seconds: float) -> Iterator[list[int]]:
    """Processes that are forked from this one and compute."""
    context = multiprocessing.get_context("fork")
    started = [context.Process(target=compute, args=(time.time() + seconds,)) for _ in range(count)]
    for one in started:
        one.start()
    try:
        yield [one.pid or 0 for one in started]
    finally:
        for one in started:
            one.kill()
            one.join()


@contextmanager
def watching(pids: list[int], *, stacks: bool) -> Iterator[Watch]:
    watch = Watch(with_stacks=stacks)
    watch.begin()
    try:
        watch.open()
        watch.add_workers(pids, lambda: True)
        yield watch
        watch.close()
    finally:
        watch.end()


def lasting(count: int, seconds: float) -> tuple[float, float, float]:
    """CPU time over the wall-clock time, samples of a thread per second, and milliseconds of CPU time per stack."""
    with workers(count, seconds + 5) as pids, watching(pids, stacks=True) as watch:
        begin = time.perf_counter()
        seconds_per_sample(seconds)
        passed = time.perf_counter() - begin
    records = len(watch.states.records) // watcher.RECORD.size
    cpu = watch.states.cpu_ns / 1e9
    return cpu / passed, records / (1 + count) / passed, cpu / max(1, records) * 1e3


def paired(count: int, pairs: int) -> list[float]:
    ratios = []
    with workers(count, pairs * 3 + 60) as pids:
        for number in range(pairs):
            times = {}
            for on in (True, False) if number % 2 else (False, True):
                with watching(pids, stacks=on):
                    times[on] = seconds_per_sample(0.5)
            ratios.append(times[True] / times[False])
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    share, rate, each_ms = lasting(arguments.workers, arguments.seconds)
    print(f"{1 + arguments.workers} threads on {os.cpu_count()} CPUs, load {load:.1f} before")
    print(f"sampler: {share:.2%} of one CPU, {rate:.0f} samples of each thread per second, {each_ms:.3f} ms per stack")
    ratios = sorted(paired(arguments.workers, arguments.pairs))
    rank = max(0, round(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5) - 1)
    low, high = ratios[rank] - 1, ratios[-1 - rank] - 1
    print(f"time per sample: {median(ratios) - 1:+.2%}, 95% interval {low:+.2%} to {high:+.2%}; budget {BUDGET:.1%}")


if __name__ == "__main__":
    main()
