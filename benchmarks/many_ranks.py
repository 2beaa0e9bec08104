"""`tb-dataplugin ranks` on many ranks: one after the other, in processes, on Dask workers of this machine.

    python benchmarks/many_ranks.py [--ranks 64] [--workers 2] [--only dask standing ...] [--folder FOLDER]

Each rank is a real capture (ResNet-50 on a V100, 28 MB of JSON, 1 MB as gzip) with a collective put at the end of each
step, in which rank 7 comes last by 19 ms. Times are of whole processes, start-up and all, with nothing in any cache;
memory is the peak of each process (VmHWM), the largest one shown. `standing`: on Dask workers that run already; their
start is in the CPU time and not in the seconds. `killed`: on Dask, with one worker killed once it has
begun (Dask starts another), and one file among the traces that is no trace. Ends with 1 where an answer is wrong.
Needs `distributed` beside this package; tests do not.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SMALL: Final = ROOT / "tests" / "golden" / "traces" / "v100_resnet50_workers4.pt.trace.json.gz"
LATE: Final = 7
BUSY_S: Final = 4.0
WAYS: Final = {
    "plain": [],
    "jobs": ["--jobs", "{workers}"],
    "dask": ["--on", "dask", "--jobs", "{workers}"],
    "standing": ["--on", "{cluster}"],
    "killed": ["--on", "dask", "--jobs", "{workers}"],
}


def write_ranks(folder: Path, ranks: int) -> int:
    """Bytes of one of them as JSON."""
    trace = json.loads(gzip.decompress(SMALL.read_bytes()))
    events = trace.pop("traceEvents")
    trace.pop("distributedInfo", None)
    steps = [event for event in events if str(event.get("name")).startswith("ProfilerStep#")]
    kernel = next(event for event in events if event.get("cat") in ("Kernel", "kernel"))
    body = ",\n".join(map(json.dumps, events))
    size = 0
    for rank in range(ranks):
        facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}
        met = ",\n".join(json.dumps(_collective(kernel, step, rank == LATE)) for step in steps)
        head = json.dumps(trace | facts)[:-1]
        text = f'{head}, "traceEvents": [\n{met},\n{body}\n]}}\n'.encode()
        (folder / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(text, 1))
        size = len(text)
    return size


def _collective(kernel: dict[str, Any], step: dict[str, Any], is_late: bool) -> dict[str, Any]:
    """All leave at the step's end; on a stream of its own."""
    took = 1_000 if is_late else 20_000
    args = {key: value for key, value in kernel["args"].items() if key != "correlation"} | {"stream": 99}
    place = {"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ts": step["ts"] + step["dur"] - took, "dur": took}
    return kernel | place | {"tid": 99, "args": args}


@dataclass
class Seen:
    """Of a command and the processes below it."""

    seconds: float = 0.0
    status: int = 0
    out: str = ""
    err: str = ""
    peak_kib: dict[int, int] = field(default_factory=dict)
    killed: int = 0


def watch(command: list[str], kills: bool) -> Seen:
    seen, began = Seen(), time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        while process.poll() is None:
            for pid in _below(os.getpid()):
                seen.peak_kib[pid] = max(seen.peak_kib.get(pid, 0), _peak_kib(pid))
            if kills and not seen.killed:
                seen.killed = _kill_a_worker(process.pid)
            time.sleep(0.1)
        seen.seconds, seen.status = time.monotonic() - began, process.returncode
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            setattr(seen, name, file.read())
    return seen


@contextlib.contextmanager
def _cluster(workers: int) -> Iterator[str]:
    """Workers that run; what `--on` calls them."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


def _below(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _below(int(child))


def _peak_kib(pid: int) -> int:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return 0


def _kill_a_worker(parent: int) -> int:
    """One that reads traces by now, by its CPU time: starting takes 2 s. Its pid, 0 where there is none yet."""
    busy = next((pid for pid in _below(parent) if _cpu_s(pid) > BUSY_S), 0)
    if busy:
        os.kill(busy, signal.SIGKILL)
    return busy


def _cpu_s(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def measure(way: str, folder: Path, ranks: int, workers: int) -> bool:
    bad = folder / "bad.pt.trace.json"
    if way == "killed":
        bad.write_text("{")
    load, spent = os.getloadavg()[0], _cpu_of_children()
    begin = [sys.executable, "-m", "tb_dataplugin", "ranks", str(folder), "--format", "json"]
    with _cluster(workers) if way == "standing" else contextlib.nullcontext("") as cluster:
        options = [option.format(workers=workers, cluster=cluster) for option in WAYS[way]]
        seen = watch([*begin, *options], kills=way == "killed")
    bad.unlink(missing_ok=True)
    answer = json.loads(seen.out) if seen.out.startswith("{") else {"ranks": [], "owners": [{}]}
    fine = len(answer["ranks"]) == ranks and next(iter(answer["owners"]), {}).get("rank") == LATE
    fine = fine and (seen.status == 2 and "bad.pt" in seen.err if way == "killed" else seen.status == 0)
    fine = fine and (way != "killed" or seen.killed > 0)
    peaks = sorted(seen.peak_kib.values(), reverse=True)
    most = ", ".join(f"{peak / 1024:.0f}" for peak in peaks[: workers + 1])
    cpu = _cpu_of_children() - spent
    times = f"{seen.seconds:6.1f} s  {cpu:6.1f} s of CPU"
    print(f"{'ok ' if fine else 'BAD'} {way:<7} {ranks} ranks {times}  {most} MiB  load before {load:.1f}", flush=True)
    if not fine:
        print(seen.status, seen.err[-2000:], file=sys.stderr)
    return fine


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=tuple(WAYS), default=tuple(WAYS))
    parser.add_argument("--folder", type=Path, help="keep the traces there; those that lie there are used again")
    options = parser.parse_args()
    os.environ |= {"PYTHONPATH": str(ROOT), "TB_DATAPLUGIN_CACHE": "off"}
    with tempfile.TemporaryDirectory() as passing:
        folder = options.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        if len(list(folder.iterdir())) != options.ranks:
            size = write_ranks(folder, options.ranks)
            print(f"{options.ranks} traces of {size / 1e6:.1f} MB each, unpacked")
        fine = [measure(way, folder, options.ranks, options.workers) for way in options.only]
        return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
