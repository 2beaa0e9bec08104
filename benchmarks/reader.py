"""How long the full text report of a large trace takes, and how much memory, beside the peers and the floor.

    python benchmarks/reader.py [--trace SMALL.pt.trace.json.gz] [--copies 10 100] [--runs 5] [--peers PYTHON]

A small real trace is repeated along the time axis (10 copies of the default are 280 MB of JSON). Ours is the whole
process, start-up and all, without the cache; peers are their analysis without imports, in a process of their own
(PYTHON: an interpreter with requirements/peers.txt; `make bench-peers` makes one). The floor is what cannot be
avoided: unzip, and look at each byte once. All in turns, in one run; medians. Memory is the peak of the process (traces
are grown in a process of their own, because a child inherits its parent's peak).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SMALL = HERE.parent / "tests" / "golden" / "traces" / "v100_resnet50_workers4.pt.trace.json.gz"

FLOOR = """
import sys
from isal import isal_zlib
unzip, count = isal_zlib.decompressobj(wbits=31), 0
with open(sys.argv[1], "rb") as file:
    while data := file.read(1 << 16):
        count += unzip.decompress(data).count(b"{")
"""


@dataclass(frozen=True)
class Run:
    """`seconds`: of the whole process, or what it printed as its own."""

    seconds: float
    peak_mib: float


def measured(command: Sequence[str | Path], **environment: str) -> Run:
    """Runs a command that must succeed."""
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], stdout=out, stderr=subprocess.DEVNULL, env=os.environ | environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{command} failed with status {os.waitstatus_to_exitcode(status)}")
        out.seek(0)
        told = out.read()
    if told.startswith(b"{") and b'"seconds"' in told:
        seconds = json.loads(told)["seconds"]
    return Run(seconds, usage.ru_maxrss / 1024)


def commands(trace: Path, peers: Path | None) -> dict[str, list[str | Path]]:
    found: dict[str, list[str | Path]] = {
        "floor: unzip, one pass over the bytes": [sys.executable, "-c", FLOOR, trace],
        "tb-dataplugin report": [sys.executable, "-m", "tb_dataplugin.cli", "report", "--no-cache", trace],
    }
    if peers is not None:
        for peer in ("torch_tb_profiler", "hta"):
            found[peer] = [peers, HERE / "peers.py", peer, trace]
    return found


def table(trace: Path, copies: int, runs: int, peers: Path | None) -> Run:
    """Prints the table of one trace; the median of ours."""
    text_mb = sum(len(block) for block in iter_text(trace)) / 1e6
    print(f"\n{copies} copies: {trace.stat().st_size / 1e6:.0f} MB, {text_mb:.0f} MB of JSON; medians of {runs} runs\n")
    found: dict[str, list[Run]] = {}
    for turn in range(runs):
        for name, command in commands(trace, peers).items():
            if turn == 0 or name not in ("torch_tb_profiler", "hta"):
                found.setdefault(name, []).append(measured(command))
    ours = median(found["tb-dataplugin report"])
    print("| | seconds | (range) | peak MiB | time, ours = 1 | memory, ours = 1 |\n|-|-|-|-|-|-|")
    for name, one in found.items():
        run, low, high = median(one), min(r.seconds for r in one), max(r.seconds for r in one)
        ratios = f"{run.seconds / ours.seconds:.2f} | {run.peak_mib / ours.peak_mib:.2f}"
        print(f"| {name} | {run.seconds:.2f} | {low:.2f} .. {high:.2f} | {run.peak_mib:.0f} | {ratios} |")
    return ours


def iter_text(trace: Path) -> Iterator[bytes]:
    with gzip.open(trace) as file:
        while block := file.read(1 << 22):
            yield block


def median(runs: list[Run]) -> Run:
    return Run(statistics.median(run.seconds for run in runs), statistics.median(run.peak_mib for run in runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, default=SMALL)
    parser.add_argument("--copies", type=int, nargs="+", default=[10])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--peers", type=Path, help="a Python with requirements/peers.txt; they run on the first size only"
    )
    arguments = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    medians = {}
    with tempfile.TemporaryDirectory() as folder:
        for copies in arguments.copies:
            trace = Path(folder) / f"{copies}.pt.trace.json.gz"
            measured([sys.executable, HERE / "grow_trace.py", arguments.trace, trace, str(copies)])
            peers = arguments.peers if copies == arguments.copies[0] else None
            medians[copies] = table(trace, copies, arguments.runs, peers)
    smallest = min(medians)
    for copies, run in medians.items():
        if copies != smallest:
            more, longer = copies / smallest, run.seconds / medians[smallest].seconds
            print(f"\n{more:g} times the text: {longer:.1f} times the time, {run.peak_mib:.0f} MiB")


if __name__ == "__main__":
    main()
