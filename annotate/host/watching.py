"""The watcher of a capture: a small process that samples what the training thread and DataLoader workers wait for.

It is started once, when the capture begins, sleeps until a window opens, and ends with the capture, or when this
process is gone. It is no child of this process (it forks, and its parent is waited for at once), reads nothing of
the user's and writes nothing but into a file without a name. Whatever fails here is a reason why the trace lacks its
samples, and nothing else: a program runs the same with it and without.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Final

from annotate.host import interpreter_lock, watcher
from annotate.host.native_stacks import PATIENCE_S, NativeStacks, PySpy
from annotate.saying import guard

_PATIENCE_S: Final = 2.0
"""For an answer; the watcher gives one within 0.1 s."""
_SET_TRACER: Final = 0x59616D61
"""prctl: whom Linux's Yama lets look at this process."""
_YAMA: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_ONLY_WHO_IS_ALLOWED: Final = b"1"
_DENIED: Final = (1, 13)
_MOST_WORKERS: Final = 64
"""DataLoader workers that are watched of those that come up at once: the latest."""
MOST_BESIDE: Final = 8
"""Threads of this process that are sampled beside the training thread."""
OURS: Final = "annotate:"
"""Begins the names of threads of ours."""
ENVIRONMENT: Final = ("PATH", "LD_LIBRARY_PATH")
"""What Python may need to start; nothing else of the user's environment is for it."""


@dataclass(frozen=True, slots=True)
class WatchedThread:
    pid: int
    tid: int
    lock_known: bool
    """Whether a wait for Python's lock can be told from other waits."""
    training: bool = False
    beside: bool = False
    """It is another thread of the training process: only its stacks are of interest."""


@dataclass
class States:
    """What was seen in one window. The reasons are clauses that follow "because"."""

    threads: list[WatchedThread] = field(default_factory=list)
    records: bytes = b""
    """Of `watcher.RECORD`; the thread is a place in `threads`."""
    names: dict[int, str] = field(default_factory=dict)
    """Thread -> its name, of all that held the lock."""
    cpu_ns: int = 0
    """What the watcher used."""
    why_not: str = ""
    """Why nothing was seen, as a clause."""
    why_no_lock: str = ""
    """Why a wait for the lock cannot be told."""
    stacks: bytes = b""
    """JSON of what `thread_stacks.Stacks` knows."""
    why_no_stacks: str = ""
    native: NativeStacks | None = None
    """Where native frames were asked for."""


class Watch:
    """One per capture. A fault of ours in it is one warning, and costs the samples."""

    def __init__(self, *, is_wanted: bool = True, with_stacks: bool = False, native: bool = False) -> None:
        self._native = PySpy() if native else None
        self.states = States()
        """Of the window that was closed last."""
        self._is_wanted, self._with_stacks = is_wanted, with_stacks
        self._owner = os.getpid()
        self._is_open = False
        self._process: _Process | None = None
        self._why_not = ""
        self._why_no_stacks = "" if with_stacks else "lines=False"
        self._lock: int | str = "not tried"
        self._threads: list[WatchedThread] = []
        self._workers: set[int] = set()
        self._names: dict[int, str] = {}

    def begin(self) -> None:
        """Start the watcher: some 40 ms, most of them spent waiting for it."""
        self._why_not = _why_not() if self._is_wanted else "host_sample_ms is 0"
        if self._why_not or self._process is not None:
            return
        with self._guard():
            self._lock = interpreter_lock.address()
            self._process = _Process()
            _watchers[self._owner] = self._process.pid
            if self._with_stacks:
                self._why_no_stacks = self._process.ask("l")
            if self._native is not None and not self.why_no_native:
                self._process.send(*self._native.command())

    @property
    def why_no_native(self) -> str:
        """As a clause; "" where they are read, or nobody asked for them."""
        if self._native is None:
            return ""
        unread = f"stacks are not read from outside, because {self.why_no_stacks}" if self.why_no_stacks else ""
        return self._native.why_not or unread

    @property
    def why_no_stacks(self) -> str:
        """As a clause; "" where it reads them."""
        return self._why_not or self._why_no_stacks

    @property
    def reads_stacks(self) -> bool:
        """In the window that is open."""
        return self._is_open and self._with_stacks and not self._why_no_stacks

    def open(self) -> None:
        """A window opens; the calling thread is the training thread."""
        self.states = States(why_not=self._why_not)
        process = self._process
        if process is None or os.getpid() != self._owner:
            return
        with self._guard():
            self._look_for_names(process)
            if self._can_look(process, threading.get_native_id()):
                self._watch_beside(process)
                process.send("o")
                self._is_open = True

    def add_workers(self, pids: Collection[int], forked: Callable[[], bool]) -> None:
        """DataLoader workers that are known by now, in a window. Cheap where all of them were known before.

        Args:
            forked: whether they were, so that the lock is where this process has it.
        """
        process = self._process
        if not self._is_open or process is None or len(pids) == len(self._workers) or os.getpid() != self._owner:
            return
        with self._guard():
            lock = self._lock if forked() else "not forked"
            new = [pid for pid in pids if pid not in self._workers]
            self._workers.update(new)
            for pid in new[-_MOST_WORKERS:]:
                process.send(*self._next(pid, pid, lock))

    def close(self) -> None:
        """The window closes. Harmless when none is open."""
        process = self._process
        if not self._is_open or process is None or os.getpid() != self._owner:
            return
        self._is_open = False
        with self._guard():
            self._look_for_names(process)
            cpu, size, *holders = process.ask("c").split("\t")
            written = process.written()
            known = {int(tid): name for tid, _, name in (holder.partition("=") for holder in holders)}
            self.states = States(
                threads=list(self._threads),
                records=written[: int(size)],
                stacks=written[int(size) :],
                why_no_stacks=self._why_no_stacks,
                names={**known, **{tid: name for tid, name in self._names.items() if tid in known}},
                cpu_ns=int(cpu),
                why_no_lock=self._lock if isinstance(self._lock, str) else "",
                native=self._native_frames(process),
            )

    def _native_frames(self, process: _Process) -> NativeStacks | None:
        if self._native is None:
            return None
        if why := self.why_no_native:
            return NativeStacks(why_not=(why,))
        return self._native.taken(process.ask("w", patience=PATIENCE_S), self._owner)

    def end(self) -> None:
        """End the watcher. Harmless when there is none."""
        process, self._process = self._process, None
        self._is_open = False
        _watchers.pop(os.getpid(), None)
        if process is not None and os.getpid() == self._owner:
            with guard("annotate could not end the process that watches threads"):
                process.end()
                if self._native is not None:
                    self._native.end()

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """What the system refuses is a reason, and no fault."""
        why = ""
        with guard("annotate stopped watching threads: the capture lacks what they wait for"):
            try:
                yield
                return
            except (OSError, subprocess.SubprocessError) as error:
                why = f"the system refused ({type(error).__name__}: {error})"
        self._why_not = why or "of an internal error"
        self.states = States(why_not=self._why_not)
        self.end()

    def _next(self, pid: int, tid: int, lock: int | str, *, beside: bool = False) -> tuple[object, ...]:
        """The command to watch a thread; it has the next number."""
        training = pid == self._owner and not beside
        self._threads.append(WatchedThread(pid, tid, isinstance(lock, int), training, beside))
        return ("t", len(self._threads) - 1, pid, tid, *((lock,) if isinstance(lock, int) else ()))

    def _watch_beside(self, process: _Process) -> None:
        """Other threads of this process that run Python: one of them may load the data."""
        if not self._with_stacks or self._why_no_stacks:
            return
        known = {thread.tid for thread in self._threads}
        others = [tid for tid, name in self._names.items() if tid not in known and not name.startswith(OURS)]
        for tid in others[: max(0, MOST_BESIDE - sum(thread.beside for thread in self._threads))]:
            process.ask(*self._next(self._owner, tid, self._lock, beside=True))

    def _can_look(self, process: _Process, tid: int) -> bool:
        """Watch the training thread. Where Yama denies that, allow it."""
        if any(thread.pid == self._owner and thread.tid == tid for thread in self._threads):
            return True
        command = self._next(self._owner, tid, self._lock)
        failed = int(process.ask(*command))
        if failed in _DENIED and process.let_look():
            failed = int(process.ask(*command))
        if failed:
            self._threads.pop()
            self._why_not = f"the system does not show it ({os.strerror(failed)})"
            self.states = States(why_not=self._why_not)
        return not failed

    def _look_for_names(self, process: _Process) -> None:
        """Names of the threads of this process that run Python."""
        before = len(self._names)
        self._names |= {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id}
        if len(self._names) > before:
            process.send("p", *self._names)


def _why_not() -> str:
    """As a clause."""
    if sys.platform != "linux":
        return "only Linux shows what threads wait for"
    return "" if can_run_scripts() else "the program is not run by a Python that could run another script"


def can_run_scripts() -> bool:
    """Whether `sys.executable` is a Python, and not the program itself."""
    return not getattr(sys, "frozen", False) and Path(sys.executable or "").name.startswith("python")


class _Process:
    """The process of the watcher, and the three ends of what connects it."""

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

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.send("q")
        try:
            self._wait()
        finally:
            if self._lets_look:
                let_look(0)
            for each in (self._commands, self._answers, self._file):
                with contextlib.suppress(OSError):
                    each.close()

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


_watchers: Final[dict[int, int]] = {}
"""Process -> its watcher."""


def tracer() -> int:
    """The watcher of this process, where DataLoader workers have to allow that it looks at them; else 0."""
    try:
        return _watchers.get(os.getpid(), 0) if _YAMA.read_bytes().strip() == _ONLY_WHO_IS_ALLOWED else 0
    except OSError:  # a kernel without it
        return 0


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
