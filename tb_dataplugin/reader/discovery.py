"""Which files below a folder are traces. Looks at names only, never inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TRACE_SUFFIXES = (".pt.trace.json.gz", ".pt.trace.json")
"""What `torch.profiler.tensorboard_trace_handler` and `annotate` write; other names are read only when given."""

READABLE_SUFFIXES = (*TRACE_SUFFIXES, ".json.gz", ".json", ".gz")

MAX_DEPTH = 8
"""Folders below the log directory that are looked into. Deeper ones are no runs, and may be a whole data set."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One trace file. `run` is its folder relative to where the search began ("." for that folder itself)."""

    path: Path
    run: str
    name: str  # file name without the trace suffix
    size: int  # bytes
    modified_ns: int

    @property
    def id(self) -> str:
        return self.name if self.run == "." else f"{self.run}/{self.name}"


def strip_suffix(file_name: str) -> str:
    for suffix in READABLE_SUFFIXES:
        if file_name.endswith(suffix):
            return file_name[: -len(suffix)]
    return file_name


def describe(path: Path, run: str) -> TraceFile:
    """The `TraceFile` of `path`. Raises OSError when it cannot be looked at."""
    facts = path.stat()
    return TraceFile(path, run, strip_suffix(path.name), facts.st_size, facts.st_mtime_ns)


def find_traces(root: Path, on_problem: Callable[[str], None] = lambda problem: None) -> Iterator[TraceFile]:
    """Traces below `root`, in no particular order; folders that cannot be read go to `on_problem`, one line each."""

    def report(error: OSError) -> None:
        on_problem(f"cannot look into {error.filename}: {error.strerror}; its traces are not shown")

    for folder, subfolders, files in os.walk(root, onerror=report):
        relative = Path(folder).relative_to(root)
        if len(relative.parts) >= MAX_DEPTH:
            subfolders.clear()
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in files:
            if name.endswith(TRACE_SUFFIXES) and not name.startswith("."):
                try:
                    yield describe(Path(folder, name), str(relative))
                except OSError as error:
                    report(error)
