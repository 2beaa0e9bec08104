"""What recording costs, phase by phase, beside the budgets: one table for `RESULTS.md`.

    python benchmarks/recording_costs.py --out FILE.json --seconds 200     # carries on where it was stopped
    python benchmarks/recording_costs.py --out FILE.json --seconds 0       # prints the table of what is there

Processes of all kinds take turns: the same loop over a DataLoader with two workers, batches of one sample that sleeps
4 ms (so that caches are as cold as between real batches), either plain, under `tb-dataplugin run` before it records
(`off`: --standby; `waiting`), or inside a profiler of its own, with the loader annotated and not. Measured is the
CPU time of the training process and of its workers for each batch; printed are the differences of the means with their
95% intervals, as a share of a sample of 5 ms for each batch size. A budget is missed where the whole interval is above.
The watcher of threads is a process of its own (`watcher_overhead.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, variance
from typing import Any, Final, NamedTuple

KINDS: Final = ("plain", "off", "waiting", "profiled", "recorded")
ROOT: Final = Path(__file__).resolve().parents[1]
WORKERS: Final = 2
BATCHES: Final = 300
BEFORE: Final = 40
"""Batches that are not measured: those that fill the queues, and a profiler's start."""
SAMPLE_US: Final = 5000
SIZES: Final = (1, 4, 16, 64)


class Phase(NamedTuple):
    """A row of the table: one kind beside another."""

    what: str
    kind: str
    beside: str
    budget: float


PHASES: Final = (
    Phase("`run --`, before it is asked to record", "off", "plain", 0.001),
    Phase("`run --`, waiting for its window", "waiting", "plain", 0.005),
    Phase("recording, beside torch's profiler alone", "recorded", "profiled", 0.01),
)


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--child":
        child(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the measurements so far, JSON")
    parser.add_argument("--seconds", type=float, default=200, help="of this piece")
    parser.add_argument("--processes", type=int, default=20, help="of each kind")
    options = parser.parse_args()
    found: list[list[Any]] = json.loads(options.out.read_text()) if options.out.exists() else []
    end, whole = time.monotonic() + options.seconds, options.processes * len(KINDS)
    while len(found) < whole and time.monotonic() < end:
        turn, place = divmod(len(found), len(KINDS))
        kind = (KINDS if turn % 2 else KINDS[::-1])[place]
        found.append([kind, *measured(kind), os.getloadavg()[0]])
        options.out.write_text(json.dumps(found))
    print(f"{len(found)} of {whole} processes; load average {min(r[3] for r in found)} to {max(r[3] for r in found)}")
    if len(found) >= 2 * len(KINDS):
        print(table(found))


def measured(kind: str) -> tuple[float, float]:
    """CPU microseconds for each batch, of the training process and of its workers."""
    command = [sys.executable, __file__, "--child", kind]
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "tb_dataplugin", "run", "--logdir", folder]
        how = {"off": [*run, "--standby", "--"], "waiting": [*run, "--wait", "1000000", "--"]}.get(kind, [])
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        text = subprocess.run([*how, *command], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = next(line for line in text.splitlines() if line.startswith("cpu "))
    own, workers = map(float, line.split()[1:])
    return own, workers


def table(found: list[list[Any]]) -> str:
    head = ["phase", "training process, us a batch", "its workers", "95% interval of both"]
    lines = [[*head, *(f"batches of {size}" for size in SIZES), "budget", "verdict at batches of 1, 16"]]
    lines.append(["-"] * len(lines[0]))
    for phase in PHASES:
        on, off = ([run[1:3] for run in found if run[0] == kind] for kind in (phase.kind, phase.beside))
        own, workers = (mean(run[at] for run in on) - mean(run[at] for run in off) for at in (0, 1))
        spread = variance([sum(run) for run in on]) / len(on) + variance([sum(run) for run in off]) / len(off)
        more, half = own + workers, 2.02 * spread**0.5
        shares = [f"{more / SAMPLE_US / size:.2%}" for size in SIZES]
        verdicts = [verdict(more, half, size, phase.budget) for size in (1, 16)]
        interval = f"{more - half:+.1f} .. {more + half:+.1f}"
        row = [phase.what, f"{own:+.1f}", f"{workers:+.1f}", interval, *shares, f"{phase.budget:.1%}"]
        lines.append([*row, ", ".join(verdicts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(more: float, half: float, size: int, budget: float) -> str:
    """By the interval of the share of a batch's CPU time."""
    low, high = ((more + sign * half) / SAMPLE_US / size for sign in (-1, 1))
    return "kept" if high <= budget else "missed" if low > budget else "open"


def child(kind: str) -> None:
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.data import DataLoader, Dataset

    class Sleepy(Dataset[int]):
        def __len__(self) -> int:
            return BATCHES + BEFORE + 20

        def __getitem__(self, index: int) -> int:
            time.sleep(0.004)
            return index

    loader: Any = DataLoader(Sleepy(), batch_size=1, num_workers=WORKERS)
    if kind == "recorded":
        import annotate

        annotate.loader(loader)
    prof: Any = profile(activities=[ProfilerActivity.CPU]) if kind in ("profiled", "recorded") else None
    iterator = iter(loader)
    next(iterator)
    if prof is not None:
        prof.__enter__()
    for _ in range(BEFORE):
        next(iterator)
    before, children = time.process_time(), workers_cpu(iterator)
    for _ in range(BATCHES):
        next(iterator)
    own, theirs = time.process_time() - before, workers_cpu(iterator) - children
    if prof is not None:
        prof.__exit__(None, None, None)
    print("cpu", own / BATCHES * 1e6, theirs / BATCHES * 1e6)


def workers_cpu(iterator: Any) -> float:
    """Seconds of CPU time of the workers so far; a process's clock has a number made of its pid (Linux)."""
    return sum(time.clock_gettime((~worker.pid << 3) | 2) for worker in iterator._workers)


if __name__ == "__main__":
    main()
