"""One peer's own analysis of one trace, as its user would get it first; prints the seconds it took as JSON.

    python benchmarks/peers.py torch_tb_profiler|hta TRACE.json.gz

torch_tb_profiler: parse, step breakdown, GPU utilisation, recommendations. HTA: temporal and idle-time breakdown.
Import time is left out of the seconds. Run it with an interpreter that has requirements/peers.txt.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path


def torch_tb_profiler(path: Path) -> float:
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker0", 0, str(path), cache)
        data.process()
        data.analyze()
        RunGenerator("worker0", 0, data).generate_run_profile()
    return time.perf_counter() - begin


def hta(path: Path) -> float:
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, Path(folder) / "rank0.json.gz")
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            analysis = TraceAnalysis(trace_files={0: str(copy)})
            analysis.get_temporal_breakdown(visualize=False)
            analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        return time.perf_counter() - begin


PEERS = {"torch_tb_profiler": torch_tb_profiler, "hta": hta}

if __name__ == "__main__":
    print(json.dumps({"seconds": PEERS[sys.argv[1]](Path(sys.argv[2]))}))
