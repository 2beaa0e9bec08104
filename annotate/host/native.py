"""Native frames, on request: py-spy, one process for each process that is sampled, started and ended by the watcher.

The standard library only, in the watcher's process. py-spy stops all threads of a process while it unwinds one stack
(``--native`` does not go with ``--nonblocking``), so this costs the program time: only where it was asked for.
It is asked to end (SIGINT) before anything else: it then lets go of all threads.
"""

from __future__ import annotations

import contextlib
import os
import signal
from time import monotonic, perf_counter_ns, sleep
from typing import Any

MOST_PROCESSES = 4
"""Of one window: the training process, and DataLoader workers."""
RATE = 100
"""Samples of each process in a second."""
LONGEST_S = 600
"""After which py-spy ends by itself, whatever became of us."""
PATIENCE_S = 5.0
"""For py-spy to write what it has, once it was asked to end."""
_PDEATHSIG = 1
_TOO_LONG = 300


class Native:
    """The py-spy processes of one window."""

    def __init__(self, program: str, folder: str) -> None:
        """
        Args:
            program: the path of py-spy.
            folder: for its files, one per process: ``PID.json``, and ``PID.log`` for what it says.
        """
        self.program, self.folder = program, folder
        self.began: dict[int, int] = {}
        """Process that is sampled -> when its py-spy was started (``perf_counter_ns``)."""
        self.children: dict[int, int] = {}
        """Process that is sampled -> its py-spy."""
        self.why_not: dict[int, str] = {}
        self.left_out = 0
        self.cpu_s = 0.0

    def begin(self) -> None:
        """A window opens."""
        self.began, self.children, self.why_not, self.left_out, self.cpu_s = {}, {}, {}, 0, 0.0

    def sample(self, pid: int) -> None:
        """From now on. Harmless where it is sampled already."""
        if pid in self.began or pid in self.why_not:
            return
        if len(self.began) >= MOST_PROCESSES:
            self.left_out += 1
            self.why_not[pid] = ""
            return
        command = (
            *(self.program, "record", "--native", "--idle", "--full-filenames", "--rate", str(RATE)),
            *("--format", "chrometrace", "--duration", str(LONGEST_S)),
            *("--output", f"{self.folder}/{pid}.json", "--pid", str(pid)),
        )
        try:
            self.began[pid] = perf_counter_ns()
            self.children[pid] = start(command, f"{self.folder}/{pid}.log")
        except OSError as error:
            self.began.pop(pid, None)
            self.why_not[pid] = f"py-spy could not be started ({error.strerror or error})"

    def end(self) -> None:
        """Ask all of them to end; harmless where none runs."""
        for child in self.children.values():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGINT)

    def wait(self) -> dict[str, Any]:
        """After `end`: what came of them, when all are gone."""
        until = monotonic() + PATIENCE_S
        for pid, child in list(self.children.items()):
            status = self._wait_for(child, until)
            if status is None:
                self.why_not[pid] = "py-spy did not end in time"
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)  # a thread that it was about to stop would stay stopped
            elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT:
                self.why_not[pid] = "the window was over before py-spy had begun"
            elif not os.path.exists(f"{self.folder}/{pid}.json"):  # noqa: PTH110
                self.why_not[pid] = self._said(pid)
            self.children.pop(pid)
        return {
            "began": {str(pid): began for pid, began in self.began.items() if pid not in self.why_not},
            "why_not": {str(pid): why for pid, why in self.why_not.items() if why},
            "left_out": self.left_out,
            "cpu_s": round(self.cpu_s, 3),
        }

    def _wait_for(self, child: int, until: float) -> int | None:
        """Its status; None: it had to be killed."""
        while True:
            found, status, used = os.wait4(child, os.WNOHANG)
            if found:
                self.cpu_s += used.ru_utime + used.ru_stime
                return status
            if monotonic() > until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            sleep(0.005)

    def _said(self, pid: int) -> str:
        """The first line of what it said, without its name."""
        try:
            with open(f"{self.folder}/{pid}.log", encoding="utf-8", errors="replace") as file:
                text = file.read(10_000)
        except OSError:
            text = ""
        lines = [line.strip() for line in text.splitlines() if line.strip() and "Sampling process" not in line]
        first = lines[0].removeprefix("Error: ").removeprefix("error: ") if lines else "py-spy ended without a word"
        if "nexpected argument" in first or "wasn't expected" in first:
            first = "this py-spy has no --native (it can unwind native stacks on Linux x86-64 and ARM64)"
        return " ".join(first.split())[:_TOO_LONG]


def start(command: tuple[str, ...], log: str) -> int:
    """A child that is asked to end when this process does. Raises: OSError."""
    if not os.access(command[0], os.X_OK):
        raise FileNotFoundError(2, "it is not there", command[0])
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    child = os.fork()
    if child:
        os.close(sink)
        os.close(nothing)
        return child
    try:
        ends_with_us()
        os.dup2(nothing, 0)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.closerange(3, 256)
        os.execv(command[0], command)
    finally:
        os._exit(127)


def ends_with_us() -> None:
    """Have this process get SIGINT when its parent is gone: py-spy then lets go of all threads, and ends."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGINT, 0, 0, 0)
