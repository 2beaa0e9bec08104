"""All ranks of a run together, for the route `ranks`: a process of its own reads their traces, one run at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError

from tb_dataplugin.rank_files import newest_of_each
from tb_dataplugin.ranks import summarise
from tb_dataplugin.reader.discovery import describe
from tb_dataplugin.report.build_ranks import ranks_report, unknown_ranks
from tb_dataplugin.report.report_pb2 import Ranks
from tb_dataplugin.tb.shelf import Shelf

LIMIT_S: Final = 600.0
KEPT_BYTES: Final = 16 << 20

Captures = Sequence[tuple[Path, str]]
"""Traces of one run with the ids of their captures, the newest first."""


class RankRuns:
    """Thread-safe."""

    def __init__(self, roots: Sequence[Path], limit_s: float = LIMIT_S) -> None:
        self._roots, self._limit_s = tuple(roots), limit_s
        self._kept: Shelf[Ranks] = Shelf(KEPT_BYTES)
        self._lock = threading.Lock()
        self._reading: str | None = None

    def find(self, run: str, key: str, captures: Captures) -> Ranks | None:
        """None while they are read: ask again. `key` changes with the files."""
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        with self._lock:
            if self._reading is None:
                self._reading = key
                threading.Thread(target=self._work, args=(run, key, captures), name="ranks", daemon=True).start()
        return None

    def _work(self, run: str, key: str, captures: Captures) -> None:
        try:
            ranks = self._read(run, captures)
            self._kept.put(key, ranks, ranks.ByteSize())
        finally:
            with self._lock:
                self._reading = None

    def _read(self, run: str, captures: Captures) -> Ranks:
        order = {
            "run": run,
            "captures": [(os.fsencode(path).hex(), name) for path, name in captures],
            "roots": [os.fsencode(root).hex() for root in self._roots],
        }
        try:
            done = subprocess.run(
                _command(),
                input=json.dumps(order).encode(),
                stdout=subprocess.PIPE,
                timeout=self._limit_s,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = "reading them took too long" if isinstance(error, subprocess.TimeoutExpired) else str(error)
            return unknown_ranks(run, f"{why}; use a terminal: tb-dataplugin ranks")
        try:
            return Ranks.FromString(done.stdout) if done.stdout else unknown_ranks(run, "see TensorBoard's own output")
        except DecodeError:
            return unknown_ranks(run, "see TensorBoard's own output")


def _command() -> list[str]:
    """A second interpreter with the same module search path."""
    script = (
        f"import sys; sys.path[:] = {json.dumps([path for path in sys.path if path])}\n"
        "from tb_dataplugin.tb import rank_runs; rank_runs.main()"
    )
    return [sys.executable, "-c", script]


def main() -> None:
    """Read an order from standard input, and write the Ranks to standard output."""
    order = json.load(sys.stdin)
    roots = tuple(_path(root) for root in order["roots"])
    names = {_path(path): name for path, name in order["captures"]}
    sys.stdout.buffer.write(read_ranks(order["run"], names, roots).SerializeToString())


def _path(name: str) -> Path:
    return Path(os.fsdecode(bytes.fromhex(name)))


def read_ranks(run: str, names: dict[Path, str], roots: tuple[Path, ...]) -> Ranks:
    """`names`: ids of captures by their files, the newest first. A capture that cannot be read costs a note."""
    traces = {path: describe(path, str(place), roots) for place, path in enumerate(names) if path.exists()}
    found = newest_of_each([*traces.values()])  # numbered: in folders of one rank each, files may be called the same
    notes = (*map(str, found.errors), *found.notes)
    if not found.tables:
        return unknown_ranks(run, notes[0] if notes else "the files are gone")
    ranks = ranks_report(summarise(run, found.tables, notes))
    ids = {trace.id: names[path] for path, trace in traces.items()}
    for row in ranks.rows:
        row.capture = ids.get(row.capture, row.capture)
    return ranks
