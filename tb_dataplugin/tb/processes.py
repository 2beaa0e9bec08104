"""TensorBoard's side of the processes that analyse captures: started when needed, replaced when they die."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

import msgspec

from tb_dataplugin.shown import shown
from tb_dataplugin.tb.analyst import Answer, Request

LIMIT_S = 900.0
"""An analysis that takes longer has failed: a 3 GB trace takes about 15 s, or more on a slow disk."""


class Analyst(Protocol):
    """Analyses captures one at a time."""

    def analyse(self, path: Path, name: str, steps: str = "") -> Answer:
        """Of some `steps` only, or of all (""). Never raises: errors are in the answer."""
        ...

    def rest(self) -> None:
        """Nothing to do for a while: release resources."""
        ...


class AnalystProcess:
    """A process that is started with the first request, reused, and started again after it ended.

    For one thread. `spare` is where it keeps what the user's cache cannot; captures must lie in one of `roots`, if
    there are any; `command` is for tests.
    """

    def __init__(
        self, spare: Path, limit_s: float = LIMIT_S, command: list[str] | None = None, roots: Sequence[Path] = ()
    ) -> None:
        self._command = command_line(spare, roots) if command is None else command
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def analyse(self, path: Path, name: str, steps: str = "") -> Answer:
        try:
            process = self._running()
        except OSError as error:
            why = f"no process can be started ({error.strerror})"
            return Answer("error", shown(f"cannot analyse {path}: {why}; close other programs"), passing=True)
        with contextlib.suppress(OSError):  # it died: the answer says so
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(Request(os.fsencode(path), name, steps)) + b"\n")
            process.stdin.flush()
        try:
            line = self._lines.get(timeout=self._limit_s)
        except queue.Empty:
            self._abandon()
            why = f"it took longer than {self._limit_s:g} s"
            remedy = "copy it to a faster disk, or capture fewer steps"
            return Answer("error", shown(f"cannot analyse {path}: {why}; {remedy}"))
        try:
            answer = msgspec.json.decode(line, type=Answer)
        except msgspec.MsgspecError:  # also the empty line of its end
            status = self._abandon()
            killed = status == -signal.SIGKILL
            return Answer("error", shown(f"cannot analyse {path}: {_cause_of_death(status)}"), passing=killed)
        if answer.leaving:
            self.rest()
        return answer

    def rest(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _close(process, b"\n")
        _wait(process)

    def _running(self) -> subprocess.Popen[bytes]:
        """The process; starts one if there is none. Raises OSError."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._abandon()
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is TensorBoard's to handle; the end of its input ends the process
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self._process, self._lines = process, queue.SimpleQueue()
        assert process.stdout is not None
        arguments = (process.stdout, self._lines)
        threading.Thread(target=_pump, args=arguments, name="data-pipeline-answers", daemon=True).start()
        return process

    def _abandon(self) -> int | None:
        """Kill the process without trusting that it can die (it may hang in a read); its status, if it ended."""
        process, self._process = self._process, None
        if process is None:
            return None
        status = _wait(process, 1.0)
        if status is None:
            process.kill()
            _wait(process, 1.0)
        _close(process)
        return status


def command_line(spare: Path, roots: Sequence[Path] = ()) -> list[str]:
    """Runs `analyst.main` in a second interpreter with the same module search path."""
    arguments = f"{json.dumps(str(spare))}, {json.dumps([str(root) for root in roots])}"
    script = (
        f"import sys; sys.path[:] = {json.dumps([path for path in sys.path if path])}\n"
        f"from tb_dataplugin.tb import analyst; analyst.main({arguments})"
    )
    return [sys.executable, "-c", script]


def _pump(stdout: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """A separate thread reads the answers, so that waiting for one can time out on every system."""
    with stdout:
        for line in stdout:
            lines.put(line)
    lines.put(b"")


def _close(process: subprocess.Popen[bytes], last_words: bytes = b"") -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(last_words)
    with contextlib.suppress(OSError):  # a broken pipe takes nothing more, and is closed all the same
        process.stdin.close()


def _wait(process: subprocess.Popen[bytes], seconds: float = 5.0) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _cause_of_death(status: int | None) -> str:
    if status is None or status >= 0:
        return f"the process that read it ended (status {status}), see TensorBoard's own output; please report this"
    name = signal.strsignal(-status) or f"signal {-status}"
    if -status == signal.SIGKILL:
        return (
            f"the process that read it was killed ({name}), as happens when memory runs out; free memory, capture less"
        )
    return f"the process that read it crashed ({name}); please report this, with the file if you can"
