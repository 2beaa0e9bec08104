"""The watcher of a capture: a small process that samples what the training thread and DataLoader workers wait for.

It is started once, when the capture begins, sleeps until a window opens, and ends with the capture, or when this
process is gone. It is no child of this process (it forks, and its parent is waited for at once), reads nothing of
the user's and writes nothing but into a file without a name. Whatever fails here is a reason why the trace lacks its
samples, and nothing else: a program runs the same with it and without.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from annotate.host import interpreter_lock
from annotate.host.native_stacks import PATIENCE_S, NativeStacks, PySpy
from annotate.host.watcher_process import DENIED, WatcherProcess, why_not
from annotate.saying import guard

_YAMA: Final = Path("/proc/sys/kernel/yama/ptrace_scope")
_ONLY_WHO_IS_ALLOWED: Final = b"1"
_MOST_WORKERS: Final = 64
"""DataLoader workers that are watched of those that come up at once: the latest."""
MOST_BESIDE: Final = 8
"""Threads of this process that are sampled beside the training thread."""
OURS: Final = "annotate:"
"""Begins the names of threads of ours."""


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
        self._process: WatcherProcess | None = None
        self._why_not = ""
        self._why_no_stacks = "" if with_stacks else "lines=False"
        self._lock: int | str = "not tried"
        self._threads: list[WatchedThread] = []
        self._workers: set[int] = set()
        self._names: dict[int, str] = {}

    def begin(self) -> None:
        """Start the watcher: some 40 ms, most of them spent waiting for it."""
        self._why_not = why_not() if self._is_wanted else "host_sample_ms is 0"
        if self._why_not or self._process is not None:
            return
        with self._guard():
            self._lock = interpreter_lock.address()
            self._process = WatcherProcess()
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

    def _native_frames(self, process: WatcherProcess) -> NativeStacks | None:
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

    def _watch_beside(self, process: WatcherProcess) -> None:
        """Other threads of this process that run Python: one of them may load the data."""
        if not self._with_stacks or self._why_no_stacks:
            return
        known = {thread.tid for thread in self._threads}
        others = [tid for tid, name in self._names.items() if tid not in known and not name.startswith(OURS)]
        for tid in others[: max(0, MOST_BESIDE - sum(thread.beside for thread in self._threads))]:
            process.ask(*self._next(self._owner, tid, self._lock, beside=True))

    def _can_look(self, process: WatcherProcess, tid: int) -> bool:
        """Watch the training thread. Where Yama denies that, allow it."""
        if any(thread.pid == self._owner and thread.tid == tid for thread in self._threads):
            return True
        command = self._next(self._owner, tid, self._lock)
        failed = int(process.ask(*command))
        if failed in DENIED and process.let_look():
            failed = int(process.ask(*command))
        if failed:
            self._threads.pop()
            self._why_not = f"the system does not show it ({os.strerror(failed)})"
            self.states = States(why_not=self._why_not)
        return not failed

    def _look_for_names(self, process: WatcherProcess) -> None:
        """Names of the threads of this process that run Python."""
        before = len(self._names)
        self._names |= {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id}
        if len(self._names) > before:
            process.send("p", *self._names)


_watchers: Final[dict[int, int]] = {}
"""Process -> its watcher."""


def tracer() -> int:
    """The watcher of this process, where DataLoader workers have to allow that it looks at them; else 0."""
    try:
        return _watchers.get(os.getpid(), 0) if _YAMA.read_bytes().strip() == _ONLY_WHO_IS_ALLOWED else 0
    except OSError:  # a kernel without it
        return 0
