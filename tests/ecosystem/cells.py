"""One cell of the table: a pipeline, recorded in one of the ways that users have."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, schedule

import annotate
from tests.ecosystem.observe import canonical
from tests.ecosystem.pipeline import Pipeline
from tests.ecosystem.pipelines import pipelines
from tests.ecosystem.planted import Said, said

COUNTS: Final = {"wait": 8, "warmup": 2, "active": 24}
STEP_S: Final = 0.002
"""What the loop does with a batch."""


class Cell(NamedTuple):
    batches: str
    """A hash of all of them."""
    count: int
    said: Said
    ours: list[str]
    """Our warnings; of a program under the launcher its last line."""
    others: list[str]


def find(module: str, title: str) -> Pipeline:
    return next(pipeline for pipeline in pipelines(module) if pipeline.title == title)


def run(module: str, title: str, way: str, folder: str) -> Cell:
    """All batches of a pipeline, in `way` or "plain"."""
    pipeline = find(module, title)
    _seed()
    files, traces = Path(folder) / "files", Path(folder) / "traces"
    files.mkdir(parents=True)
    seen = hashlib.sha256()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        count = _loop(pipeline, way, files, traces, seen)
    texts = [str(warning.message) for warning in caught]
    return Cell(
        batches=seen.hexdigest(),
        count=count,
        said=said(traces),
        ours=[text for text in texts if text.startswith("annotate")],
        others=sorted({text.replace(folder, "") for text in texts if not text.startswith("annotate")}),
    )


def run_under_the_launcher(module: str, title: str, folder: str) -> Cell:
    """The same for `tb-dataplugin run`: what the program printed, and what the report says of its capture."""
    files, traces = Path(folder) / "files", Path(folder) / "traces"
    files.mkdir(parents=True)
    command = [sys.executable, "-m", "tb_dataplugin", "run", "--logdir", str(traces), "--wait", "8", "--active", "24"]
    command += ["--", sys.executable, "-W", "ignore", "-m", "tests.ecosystem.loop", module, title, str(files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    words = next((line.split() for line in done.stdout.splitlines() if line.startswith("batches ")), [])
    assert done.returncode == 0 and len(words) == 3, f"exit status {done.returncode}: {done.stderr[-2000:]}"
    last = [line for line in done.stderr.splitlines() if line.startswith("tb-dataplugin: ")]
    return Cell(batches=words[2], count=int(words[1]), said=said(traces), ours=last, others=[])


def train_plainly(pipeline: Pipeline, files: Path) -> tuple[str, int]:
    """All batches of a pipeline, without a word of us: their hash, and their number."""
    _seed()
    seen = hashlib.sha256()
    count = _loop(pipeline, "plain", files, files, seen)
    return seen.hexdigest(), count


def _seed() -> None:
    torch.set_num_threads(1)
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)


def _loop(pipeline: Pipeline, way: str, files: Path, traces: Path, seen: Any) -> int:
    count = 0

    def train(batch: Any) -> None:
        nonlocal count
        count += 1
        seen.update(repr(canonical(batch)).encode())
        time.sleep(STEP_S)

    if way != "steps":
        if way != "plain":
            annotate.auto()
        loader = pipeline.make(files)
    if way == "plain":
        for batch in loader:
            train(batch)
    elif way == "steps":
        loader = pipeline.make(files)
        with annotate.profile(traces, **COUNTS) as prof:
            for batch in prof.steps(loader):
                train(batch)
    elif way == "auto":
        with annotate.profile(traces, **COUNTS) as prof:
            for batch in loader:
                train(batch)
                prof.step()
    else:
        with torch.profiler.profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(**COUNTS, repeat=1),
            on_trace_ready=annotate.trace_handler(traces),
        ) as prof:
            for batch in loader:
                train(batch)
                prof.step()
    return count
