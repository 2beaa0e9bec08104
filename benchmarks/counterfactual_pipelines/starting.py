"""Starts `running` for a pipeline, in the Python that the pipeline needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.counterfactual_pipelines import PIPELINES

ROOT: Final = Path(__file__).resolve().parents[2]
RUNNING: Final = "benchmarks.counterfactual_pipelines.running"


def runnable(names: Sequence[str]) -> list[str]:
    """Those whose Python exists; the others are named, with how to make it."""
    missing = [name for name in names if not PIPELINES[name].python.exists()]
    if missing:
        pythons = ", ".join(sorted({str(PIPELINES[name].python) for name in missing}))
        print(f"left out: {', '.join(missing)}. `make .venv-dlio/.installed` makes {pythons}", file=sys.stderr)
    return [name for name in names if name not in missing]


def run(name: str, *arguments: str) -> str:
    """What `running` prints of this pipeline."""
    return started(PIPELINES[name].python, "-m", RUNNING, name, *arguments)


def report(logdir: Path) -> str:
    """As JSON; by the Python that runs this."""
    return started(Path(sys.executable), "-m", "tb_dataplugin", "report", str(logdir), "--format", "json")


def started(python: Path, *arguments: str) -> str:
    """What it prints; ends this program, with its last words, if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [str(python), *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
    return ended.stdout
