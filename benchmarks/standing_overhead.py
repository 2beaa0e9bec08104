"""What a followed loader costs while nothing records: CPU time per batch, beside the same loader that nobody annotated.

    python benchmarks/standing_overhead.py [--processes 20] [--batches 300] [--tree DIR]

Processes of the two kinds take turns; each makes one epoch with two workers whose samples sleep 3 ms (so that caches
are as cold as between real batches), and reads its own CPU time and that of its workers around it. Printed are the
differences of the means per batch, with their 95% intervals, and what share of a batch of 5 ms samples that is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

KINDS = ("plain", "followed")
WORKERS = 2


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--child":
        child(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=20, help="of each kind")
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="checkout of this repository")
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for turn in range(options.processes):
        for kind in KINDS if turn % 2 else KINDS[::-1]:
            found[kind].append(run(kind, options.batches, options.tree))
    total = 0.0
    for number, name in enumerate(("training process", "its workers")):
        plain, followed = ([each[number] for each in found[kind]] for kind in KINDS)
        more = statistics.mean(followed) - statistics.mean(plain)
        half = 2.02 * (statistics.variance(plain) / len(plain) + statistics.variance(followed) / len(followed)) ** 0.5
        total += more
        print(f"{name:17}{statistics.mean(plain):7.1f} us a batch, followed {more:+6.1f} (+-{half:.1f})")
    for size in (1, 4, 16, 64):
        print(f"batches of {size:2} samples of 5 ms: {total / (size * 5000):.2%} of their CPU time")


def run(kind: str, batches: int, tree: Path) -> tuple[float, float]:
    """CPU time per batch of the training process and of its workers, in microseconds."""
    command = [sys.executable, __file__, "--child", kind, str(batches)]
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    text = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    own, workers = text.split()
    return float(own), float(workers)


def child(kind: str, batches: int) -> None:
    from torch.utils.data import DataLoader, Dataset

    class Sleepy(Dataset[int]):
        def __len__(self) -> int:
            return batches

        def __getitem__(self, index: int) -> int:
            time.sleep(0.003)
            return index

    loader: Any = DataLoader(Sleepy(), batch_size=1, num_workers=WORKERS)
    if kind == "followed":
        import annotate

        annotate.loader(loader)
    iterator = iter(loader)
    next(iterator)
    before, children = time.process_time(), workers_cpu(iterator)
    for _ in range(batches - 10):
        next(iterator)
    own, theirs = time.process_time() - before, workers_cpu(iterator) - children
    print(own / (batches - 10) * 1e6, theirs / (batches - 10) * 1e6)


def workers_cpu(iterator: Any) -> float:
    """Seconds of CPU time of the workers so far."""
    return sum(cpu_of(worker.pid) for worker in iterator._workers)


def cpu_of(pid: int) -> float:
    """CPU time of a process: its clock's number is made of its pid (Linux)."""
    return time.clock_gettime((~pid << 3) | 2)


if __name__ == "__main__":
    main()
