"""How long a thread waits for Python's lock (the GIL): seen by a `watcher`, in short stretches of a whole run.

A stretch of a quarter of a second in twenty seconds costs the watcher some 2 ms of CPU time, and the program none. The
moments at which stretches begin follow no period, so that nothing periodic in the program is always, or never, met.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import SubprocessError
from typing import Final

from annotate.host import interpreter_lock
from annotate.host.watcher import LOCKED, RECORD
from annotate.host.watcher_process import DENIED, WatcherProcess, why_not
from annotate.saying import guard

STRETCH_S: Final = 0.25
EVERY_S: Final = 20.0
_GOLDEN: Final = 0.6180339887498949


class LockShare:
    """Of the thread that takes the batches. All but `begin` is called by one thread; what fails costs the share."""

    def __init__(self, now: float) -> None:
        """
        Args:
            now: `time.monotonic`; so are all moments here.
        """
        self.cpu_ns = 0
        """What the watcher used in all stretches."""
        self._owner: Final = os.getpid()
        self._process: WatcherProcess | None = None
        self._lock = 0
        self._numbers: Final[dict[int, int]] = {}
        """Thread -> the watcher's number for it."""
        self._open: int | None = None
        """The number of the thread that a stretch is about."""
        self._turn = 1
        self._began: Final = now
        self._due = now + self._start_of(1)
        self._samples = self._locked = 0

    def begin(self) -> None:
        """Start the watcher, some 40 ms; in a thread of the program, since one SIGCHLD comes with it."""
        with self._guard():
            address = 0 if why_not() else interpreter_lock.address()
            if isinstance(address, int) and address:
                self._lock, self._process = address, WatcherProcess()

    @property
    def due(self) -> float:
        """When `turn` is to be called next."""
        return self._due if self._process is not None else float("inf")

    def turn(self, now: float, thread: int | None) -> None:
        """Begin or end a stretch where it is time to.

        Args:
            thread: as the system numbers it; None: not now.
        """
        if now < self.due or os.getpid() != self._owner:
            return
        if self._open is not None:
            self._close()
        elif thread is not None:
            self._look_at(thread)
        if self._open is not None:
            self._due = now + STRETCH_S
        else:
            self._turn = max(self._turn, int((now - self._began) / EVERY_S)) + 1
            self._due = self._began + self._start_of(self._turn)

    def take(self) -> float | None:
        """The share of the samples since this was called last; None where there are none."""
        samples, locked = self._samples, self._locked
        self._samples = self._locked = 0
        return locked / samples if samples else None

    def end(self) -> None:
        """End the watcher. Harmless when there is none."""
        process, self._process = self._process, None
        self._open = None
        if process is not None and os.getpid() == self._owner:
            with guard("annotate could not end the process that watches threads"):
                process.end()

    def _start_of(self, turn: int) -> float:
        """The place of a stretch, in seconds; the first period is without one."""
        return turn * EVERY_S + turn * _GOLDEN % 1 * (EVERY_S - STRETCH_S)

    def _look_at(self, thread: int) -> None:
        process = self._process
        if process is None:
            return
        with self._guard():
            if thread in self._numbers:
                process.let_look_again()
            elif not self._is_shown(process, thread):
                return
            process.send("o")
            self._open = self._numbers[thread]

    def _is_shown(self, process: WatcherProcess, thread: int) -> bool:
        command = ("t", len(self._numbers), self._owner, thread, self._lock)
        failed = int(process.ask(*command))
        if failed in DENIED and process.let_look():
            failed = int(process.ask(*command))
        if not failed:
            self._numbers[thread] = len(self._numbers)
        return not failed

    def _close(self) -> None:
        process, number, self._open = self._process, self._open, None
        if process is None:
            return
        with self._guard():
            cpu, size = process.ask("c").split("\t")[:2]
            self.cpu_ns += int(cpu)
            records = process.written()[: int(size)]
            states = [state for _, thread, state, *_ in RECORD.iter_unpack(records) if thread == number]
            self._samples += len(states)
            self._locked += states.count(LOCKED)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """What the system refuses costs the share, and nothing is said of it."""
        is_fine = False
        with guard("annotate.watch stopped looking at Python's lock"):
            try:
                yield
                is_fine = True
            except (OSError, SubprocessError):
                pass
        if not is_fine:
            self.end()
