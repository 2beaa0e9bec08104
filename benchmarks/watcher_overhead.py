"""What the watcher of threads costs: its CPU time as a share of one CPU, and its effect on a loop of 5 ms samples.

    python benchmarks/watcher_overhead.py [--seconds 20] [--pairs 30]

The loop computes 5 ms of CPU time per sample in the training thread. Pairs of half a second each, with the watcher
sampling and without, stand side by side in an order that turns round from pair to pair. Printed are the median of the
paired ratios of time per sample with a 95% interval of it (by order statistics), the watcher's CPU time while it
samples, and what starting it and ending it takes.
"""

from __future__ import annotations

import argparse
import time
from statistics import median, quantiles

from annotate.host import interpreter_lock, watcher
from annotate.host.watching import Watch

SAMPLE_S = 0.005
BUDGET = 0.005


def sample() -> None:
    """5 ms of CPU time of pure Python."""
    end = time.thread_time() + SAMPLE_S
    while time.thread_time() < end:
        sum(range(500))


def seconds_per_sample(seconds: float) -> float:
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        sample()
        count += 1
    return (time.perf_counter() - begin) / count


def lasting(seconds: float) -> tuple[float, float, int]:
    """CPU time of the watcher over the wall-clock time, the mean interval in ms, and the number of samples."""
    watch = Watch()
    watch.begin()
    watch.open()
    begin = time.perf_counter()
    seconds_per_sample(seconds)
    passed = time.perf_counter() - begin
    watch.close()
    watch.end()
    count = len(watch.states.records) // watcher.RECORD.size
    return watch.states.cpu_ns / 1e9 / passed, passed / count * 1e3, count


def paired(pairs: int, seconds: float) -> list[float]:
    watch, ratios = Watch(), []
    watch.begin()
    for number in range(pairs):
        times = {}
        for on in (True, False) if number % 2 else (False, True):
            if on:
                watch.open()
            times[on] = seconds_per_sample(seconds)
            if on:
                watch.close()
        ratios.append(times[True] / times[False])
    watch.end()
    return ratios


def starting(times: int = 10) -> tuple[float, float]:
    """Milliseconds to start it, the lock's address found anew, and to end it."""
    begins, ends = [], []
    for _ in range(times):
        interpreter_lock._found.clear()
        watch, begin = Watch(), time.perf_counter()
        watch.begin()
        middle = time.perf_counter()
        watch.end()
        begins.append(middle - begin)
        ends.append(time.perf_counter() - middle)
    return median(begins) * 1e3, median(ends) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pairs", type=int, default=30)
    arguments = parser.parse_args()
    begin_ms, end_ms = starting()
    print(f"start {begin_ms:.1f} ms, end {end_ms:.1f} ms (medians of 10)")
    share, interval_ms, count = lasting(arguments.seconds)
    print(f"watcher: {share:.2%} of one CPU over {arguments.seconds:g} s; {count} samples, {interval_ms:.1f} ms apart")
    ratios = sorted(paired(arguments.pairs, 0.5))
    lower, middle, upper = quantiles(ratios, n=4)
    rank = max(0, round(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5) - 1)
    low, high = ratios[rank] - 1, ratios[-1 - rank] - 1
    print(
        f"time per sample with it: {middle - 1:+.2%}, 95% interval {low:+.2%} to {high:+.2%}, middle half "
        f"{lower - 1:+.2%} to {upper - 1:+.2%}; budget {BUDGET:.1%}"
    )


if __name__ == "__main__":
    main()
