"""The process of the watcher (`watcher`), and the three ends of what connects it to this one."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Final

from annotate.host import watcher

_PATIENCE_S: Final = 2.0
"""For an answer; the watcher gives one within 0.1 s."""
_SET_TRACER: Final = 0x59616D61
"""prctl: whom Linux's Yama lets look at this process."""
DENIED: Final = (1, 13)
"""Errors by which the system says that this process may not be looked at."""
ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH")
"""What Python may need to start; nothing else of the user's environment is for it."""


def why_not() -> str:
    """Why there can be no watcher, as a clause; empty where there can be one."""
    if sys.platform != "linux":
        return "only Linux shows what threads wait for"
    return "" if can_run_scripts() else "the program is not run by a Python that could run another script"


def can_run_scripts() -> bool:
    """Whether `sys.executable` is a Python, and not the program itself."""
    return not getattr(sys, "frozen", False) and Path(sys.executable or "").name.startswith("python")


class WatcherProcess:
    """No child of this process."""

    def __init__(self) -> None:
        """Raises: OSError, ValueError, RuntimeError, SubprocessError: it could not be started."""
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `end`)
        self._lets_look = False
        self._rest = b""
        try:
            started = self._start()
        except BaseException:
            self._file.close()
            raise
        if started.stdin is None or started.stderr is None:
            raise RuntimeError("no pipes")
        self._commands, self._answers = started.stdin, started.stderr
        try:
            self.pid = int(self._answer())
            self._since = _started_at(self.pid)
            started.wait(_PATIENCE_S)  # it has forked, and is gone
        except BaseException:
            started.kill()
            started.wait()
            self._commands.close()
            self._answers.close()
            self._file.close()
            raise
        # Whoever forgets to end it has its ends closed all the same, and it ends when they are.
        self._close_ends = weakref.finalize(self, _close, (self._commands, self._answers, self._file))

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        return subprocess.Popen(
            (sys.executable, "-I", "-S", "-E", watcher.__file__, str(os.getpid())),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=self._file,
            stderr=subprocess.PIPE,
            cwd="/",
            env=environment,
            start_new_session=True,  # Ctrl-C is not for it
        )

    def send(self, *words: object) -> None:
        """Raises: OSError: it has ended."""
        self._commands.write(" ".join(map(str, words)).encode() + b"\n")

    def ask(self, *words: object, patience: float = _PATIENCE_S) -> str:
        """Raises: OSError: it has ended, or does not answer."""
        self.send(*words)
        return self._answer(patience)

    def _answer(self, patience: float = _PATIENCE_S) -> str:
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        until = monotonic() + patience
        while b"\n" not in self._rest:
            if not poll.poll(max(0.0, until - monotonic()) * 1e3):
                raise TimeoutError("no answer")
            text = os.read(self._answers.fileno(), 1 << 16)
            if not text:
                raise BrokenPipeError("it has ended")
            self._rest += text
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def written(self) -> bytes:
        """Raises: OSError."""
        size = os.fstat(self._file.fileno()).st_size
        parts, at = [], 0
        while at < size and (part := os.pread(self._file.fileno(), size - at, at)):
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    def let_look(self) -> bool:
        """Where Yama allows only one's own children to look at a process: allow this one as well, until it ends."""
        self._lets_look = let_look(self.pid)
        return self._lets_look

    def let_look_again(self) -> None:
        """Another watcher's end has taken the permission away from this one as well."""
        if self._lets_look:
            self.let_look()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.send("q")
        try:
            self._wait()
        finally:
            if self._lets_look:
                let_look(0)
            self._close_ends()

    def _wait(self) -> None:
        """Until it has closed its end; kill it where it does not."""
        with contextlib.suppress(OSError):
            while True:
                self._answer()
        if self._since and _started_at(self.pid) == self._since and not self._has_closed():
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        until = monotonic() + _PATIENCE_S
        with contextlib.suppress(OSError):  # a process with number 1 gets all orphans, this one as well
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0) and monotonic() < until:
                sleep(0.001)

    def _has_closed(self) -> bool:
        poll = select.poll()
        poll.register(self._answers, 0)
        return any(event & select.POLLHUP for _, event in poll.poll(0))


def _close(files: Iterable[IO[bytes]]) -> None:
    for each in files:
        with contextlib.suppress(OSError):
            each.close()


def let_look(pid: int) -> bool:
    """Allow a process to look at this one; 0: nobody any more. False where that is not possible."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SET_TRACER, pid, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _started_at(pid: int) -> bytes:
    """When a process was started, in ticks of the system; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
    except (OSError, IndexError):
        return b""
