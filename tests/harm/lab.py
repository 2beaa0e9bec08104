"""Runs programs in processes, some at a time, and keeps what was seen of those without us."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import PIL.Image

from tests.harm import observe
from tests.harm.cells import KINDS, Annotated, Cell, Program
from tests.harm.compare import Difference, differences
from tests.harm.drive import Job
from tests.harm.observe import Observation
from tests.harm.server import encode

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 60.0
"""For one run: far more than any needs, so that no clock decides but over those that hang."""
SLOW_LIMIT_S: Final = 180.0
WHOLE_END: Final = frozenset(
    {"iterable", "persistent", "thread_workers", *(name for name, kind in KINDS.items() if kind.slow)}
)
"""Loaders whose programs end as Python ends, in each cell; others end quickly."""


class Lab:
    """A server, and the runs that it is asked for. A context manager."""

    def __init__(self, at_a_time: int | None = None) -> None:
        self._at_a_time = at_a_time or max(2, len(os.sched_getaffinity(0)))
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._going: dict[int, tuple[Job, Future[Observation]]] = {}
        self._number = 0
        self._busy = 0
        self._known: dict[Program, Future[Observation]] = {}
        self._seen: dict[Cell, Future[Observation]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="harm-", ignore_cleanup_errors=True)
        self._files = _make_files(Path(self._folder.name))
        self._servers: list[subprocess.Popen[str]] = []
        """One that knows nothing of annotate, and one that has imported it."""
        self._listeners: list[threading.Thread] = []

    def __enter__(self) -> Lab:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "", "PYTHONWARNINGS": ""}
        for arguments in ([], ["--with-us"]):
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.harm.server", *arguments],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._servers.append(server)
            listener = threading.Thread(target=self._listen, args=(server,), daemon=True)
            self._listeners.append(listener)
            listener.start()
        return self

    def __exit__(self, *exc: object) -> None:
        for server in self._servers:
            assert server.stdin is not None
            server.stdin.close()
            server.wait(30)
        for listener in self._listeners:
            listener.join()
        self._folder.cleanup()

    def without_us(self, program: Program) -> Future[Observation]:
        """The program as it is, run once."""
        if program not in self._known:
            self._known[program] = self._submit(program, None)
        return self._known[program]

    def with_us(self, cell: Cell) -> Future[Observation]:
        """A cell's program with us in it, run once."""
        if cell not in self._seen:
            self._seen[cell] = self._submit(cell.program(), cell.annotated())
        return self._seen[cell]

    def try_cell(self, cell: Cell) -> Future[list[Difference]]:
        """Both runs, compared. Asked for beforehand, it goes on while others are waited for."""
        without, ours = self.without_us(cell.program()), self.with_us(cell)
        found: Future[list[Difference]] = Future()
        lock = threading.Lock()

        def compared(_: Future[Observation]) -> None:
            with lock:
                if without.done() and ours.done() and not found.done():
                    found.set_result(differences(cell, without.result(), ours.result()))

        without.add_done_callback(compared)
        ours.add_done_callback(compared)
        return found

    def script(self, name: str, *arguments: Any, with_us: bool = True) -> Observation:
        """A function of `scripts`, in a process that has imported annotate or has not."""
        job = self._job(Program(), Annotated() if with_us else None)
        return self._put(replace(job, script=name, arguments=arguments)).result()

    def _submit(self, program: Program, annotated: Annotated | None) -> Future[Observation]:
        return self._put(self._job(program, annotated))

    def _job(self, program: Program, annotated: Annotated | None) -> Job:
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        (folder / "tmp").mkdir()
        limit = SLOW_LIMIT_S if KINDS[program.loader].slow else LIMIT_S
        whole = program.loader in WHOLE_END or program.ending == "interrupt"
        return Job(program, annotated, str(folder), str(self._files), limit, whole_end=whole)

    def _put(self, job: Job) -> Future[Observation]:
        future: Future[Observation] = Future()
        with self._lock:
            self._number += 1
            self._going[self._number] = job, future
            self._waiting.append((self._number, job))
            self._start_some()
        return future

    def _start_some(self) -> None:
        while self._waiting and self._busy < self._at_a_time:
            number, job = self._waiting.popleft()
            self._busy += 1
            sink = self._servers[job.annotated is not None].stdin
            assert sink is not None
            sink.write(encode(number, job) + "\n")
            sink.flush()

    def _listen(self, server: subprocess.Popen[str]) -> None:
        assert server.stdout is not None
        with server.stdout:
            for line in server.stdout:
                kind, number, *rest = json.loads(line)
                if kind == "ended":
                    with self._lock:
                        self._busy -= 1
                        self._start_some()
                else:
                    self._finish(number, *rest)

    def _finish(self, number: int, code: int, left: list[str]) -> None:
        with self._lock:
            job, future = self._going.pop(number)
        try:
            future.set_result(observe.read(Path(job.folder), code, left))
        except Exception as error:
            future.set_exception(error)
        shutil.rmtree(job.folder, ignore_errors=True)


def _make_files(folder: Path) -> Path:
    """What the dataset reads."""
    files = folder / "files"
    files.mkdir()
    (files / "labels.txt").write_text("3 1 4 1")
    PIL.Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4)).save(files / "photo.png")
    np.save(files / "array.npy", np.arange(4.0))
    return files
