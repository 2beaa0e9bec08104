"""Training loops for the route `what_if`: read by a process of its own, as analyses are, and kept."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import DataPipelineError, NothingToReport, UnreadableTrace
from tb_dataplugin.pipeline import read_loop
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.tb.shelf import Shelf
from tb_dataplugin.whatif.loop import Loop

LIMIT_S: Final = 300.0
KEPT_BYTES: Final = 64 << 20


class Loops:
    """Thread-safe; one trace is read at a time."""

    def __init__(self, roots: Sequence[Path], limit_s: float = LIMIT_S) -> None:
        self._roots, self._limit_s = tuple(roots), limit_s
        self._kept: Shelf[Loop] = Shelf(KEPT_BYTES)
        self._reading = threading.Lock()

    def loop(self, trace: TraceFile) -> Loop:
        """Raises UnreadableTrace, and NothingToReport for a capture that nothing can be predicted from."""
        key = f"{trace.path} {trace.size} {trace.modified_ns}"
        with self._reading:
            loop = self._kept.get(key)
            if loop is None:
                answer = self._read(trace.path)
                loop = _loop_in(answer, trace.path)
                self._kept.put(key, loop, len(answer))
        return loop

    def _read(self, path: Path) -> bytes:
        try:
            done = subprocess.run(
                _command(path, self._roots),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=self._limit_s,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else "no process can be started"
            raise UnreadableTrace(path, why, "predict in a terminal: tb-dataplugin whatif") from None
        return done.stdout


def _command(path: Path, roots: Sequence[Path]) -> list[str]:
    """A second interpreter with the same module search path."""
    arguments = json.dumps([os.fsencode(one).hex() for one in (path, *roots)])
    script = (
        f"import sys; sys.path[:] = {json.dumps([path for path in sys.path if path])}\n"
        f"from tb_dataplugin.tb import loops; loops.main({arguments})"
    )
    return [sys.executable, "-c", script]


def main(names: Sequence[str]) -> None:
    """Write the loop of the first path, or one line that says why there is none, to standard output; pickled."""
    path, *roots = (Path(os.fsdecode(bytes.fromhex(name))) for name in names)
    found: Loop | str
    try:
        found, _ = read_loop(path, None, tuple(roots))
    except DataPipelineError as error:
        found = str(error)
    pickle.dump(found, sys.stdout.buffer)


def _loop_in(answer: bytes, path: Path) -> Loop:
    """What our own process has written."""
    if not answer:
        raise UnreadableTrace(path, "the process that read it ended", "see TensorBoard's own output")
    found = pickle.loads(answer)
    if isinstance(found, Loop):
        return found
    raise NothingToReport(str(found))
