"""Time and memory that a trace of hostile structure costs, in a process of its own, against what its size allows.

    python -m tests.fuzz --structure --seconds 600     all shapes, then random mixes of them

A file may cost so much per MB, and so much whatever its size; a shape that costs more has an algorithm in its way that
is not in proportion to the file, or lacks a limit (`tb_dataplugin/limits.py`).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.shapes import SHAPES, random_shape

SIZE = 100_000
"""Events of a shape: about 10 MB."""
CPU_S, CPU_S_PER_MB = 5.0, 1.5
"""Generous: a sound trace takes 0.1 s per MB, and the machine may be slow."""
MEMORY_MB, MEMORY_MB_PER_MB = 200.0, 40.0
REPORT_MB, REPORT_MB_PER_MB = 20.0, 12.0
MOST_S, MOST_MEMORY = 300, 12 << 30
"""A process that takes more is stopped."""


@dataclass(frozen=True)
class Cost:
    """`memory_mb` is on top of what the imports take, `report_mb` the report's JSON. `said` ends with an error."""

    file_mb: float
    cpu_s: float
    memory_mb: float
    report_mb: float
    picture_s: float
    said: str

    def excess(self) -> list[str]:
        """What is more than the file's size allows."""
        most = {
            "cpu_s": CPU_S + CPU_S_PER_MB * self.file_mb,
            "memory_mb": MEMORY_MB + MEMORY_MB_PER_MB * self.file_mb,
            "report_mb": REPORT_MB + REPORT_MB_PER_MB * self.file_mb,
            "picture_s": CPU_S,
        }
        spent = [(name, getattr(self, name), limit) for name, limit in most.items()]
        return [f"{name} {value:.1f} > {limit:.1f}" for name, value, limit in spent if value > limit]

    def __str__(self) -> str:
        return (
            f"{self.file_mb:6.1f} MB {self.cpu_s:7.1f} s {self.memory_mb:7.0f} MB memory "
            f"{self.report_mb:7.2f} MB report {self.picture_s:6.2f} s picture  {self.said}"
        )


def measure(text: bytes) -> Cost:
    """Reads, analyses and reports on the trace `text` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shape.pt.trace.json"
        path.write_bytes(text)
        command = [sys.executable, "-m", "tests.fuzz.structure", str(path)]
        size = len(text) / 1e6
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_S, check=False)
        except subprocess.TimeoutExpired:
            return Cost(size, MOST_S, 0, 0, 0, "TIMEOUT")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1][:150]
            memory = MOST_MEMORY / 1e6 if "MemoryError" in last else 0.0
            return Cost(size, MOST_S, memory, 0, 0, f"DIED {done.returncode}: {last}")
        return Cost(size, **json.loads(done.stdout.splitlines()[-1]))


def look(path: Path) -> dict[str, float | str]:
    """Everything that the command line and the tab do with a file. Runs in the measured process."""
    from tb_dataplugin.cache import Store
    from tb_dataplugin.errors import DataPipelineError
    from tb_dataplugin.export.as_html import as_html
    from tb_dataplugin.export.as_json import as_compact_json, as_json
    from tb_dataplugin.export.as_text import as_text
    from tb_dataplugin.pipeline import analyse_file, as_report
    from tb_dataplugin.report.build_timeline import slice_timeline

    before, begin = _peak_mb(), time.process_time()
    told: dict[str, float | str] = {"report_mb": 0.0, "picture_s": 0.0, "said": "fine"}
    try:
        found = analyse_file(path)
    except DataPipelineError as error:
        told["said"] = str(error)[-100:]
    else:
        report = as_report([found.capture])
        told["report_mb"] = len(as_json(report)) / 1e6
        as_text(report)
        Store(path.parent / "cache").save("a" * 40, found.capture, found.timeline)
        start, end = found.timeline.window.start_ns / 1e3, found.timeline.window.end_ns / 1e3
        drawn = time.process_time()
        as_compact_json(slice_timeline(found.timeline, start, end, 2000))
        told["picture_s"] = time.process_time() - drawn
        if os.environ.get("STRUCTURE_HTML"):
            as_html(report, [found.timeline], "x")
        odd = sorted({one.code for one in found.capture.diagnostics if one.code.startswith("limit_")})
        told["said"] = " ".join(odd) or "fine"
    return {**told, "cpu_s": time.process_time() - begin, "memory_mb": _peak_mb() - before}


def _peak_mb() -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1e3
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def fuzz_structure(seconds: float, number: int, keep: Path, size: int = SIZE) -> int:
    """Measure all shapes, then random ones. Gives how many cost more than their size allows; those are kept."""
    random, begin, excesses = Random(number), time.monotonic(), 0
    queue = list(SHAPES.items())
    while queue or time.monotonic() - begin < seconds:
        if queue:
            name, shape = queue.pop(0)
            text = shape(size)
        else:
            name, text = random_shape(random, random.choice((1000, 10_000, size)))
        cost = measure(text)
        excess = cost.excess()
        print(f"{'TOO MUCH' if excess else 'ok':<9}{name:<26}{cost}  {'; '.join(excess)}", flush=True)
        if excess:
            excesses += 1
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"structure-{excesses}.json").write_bytes(text)
    return excesses


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    print(json.dumps(look(Path(sys.argv[1]))))
