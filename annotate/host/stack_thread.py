"""Stacks of this process sampled by a thread of its own, where no other process may or can read them.

Such a thread runs only where Python's lock (the GIL) is free: while C code holds the lock it waits, and then finds the
thread at the very line that called that code. So a sample stands for the time since the one before, and is no count.
What runs Python for less than the 5 ms after which the lock is taken away is not met: the call that gives it up is.
DataLoader workers are other processes, which it does not see.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import threading
import time
from time import perf_counter_ns
from types import FrameType
from typing import Any, Final

from annotate.host import watcher
from annotate.host.own_threads import own_thread
from annotate.host.stack_reader import MOST_FRAMES, UNREAD, Place, Table
from annotate.host.thread_stacks import MOST_TIMES
from annotate.host.watching import MOST_BESIDE, OURS, States, WatchedThread
from annotate.saying import guard

INTERVAL_S: Final = 0.01
SHARE: Final = 0.01
"""Of one CPU: what sampling may use; it goes on more slowly where it needs more."""
MOST_RECORDS: Final = 400_000
UNKNOWN_STATE: Final = 0xFFFF
_PATIENCE_S: Final = 2.0
_ROUGH: Final = (
    "Shares of lines are rough: Python that runs for less than 5 ms between two calls that release the lock (sleep, "
    "I/O, numpy) counts as the call that follows"
)


class StackThread:
    """Samples from `open` to `close`."""

    def __init__(self) -> None:
        self._states: States | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen = _Seen(0, "")

    def open(self, why: str) -> None:
        """The calling thread is the training thread. Harmless while it is open.

        Args:
            why: no other process samples the stacks, as a clause.
        """
        if self._thread is not None:
            return
        self._ended, self._seen = threading.Event(), _Seen(threading.get_ident(), why)
        thread = threading.Thread(target=self._run, args=(self._seen, self._ended), name=f"{OURS} stacks", daemon=True)
        with contextlib.suppress(RuntimeError):  # no more threads
            thread.start()
            self._thread = thread

    def close(self) -> None:
        """Harmless when it is not open."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            thread.join(_PATIENCE_S)
            self._states = self._seen.states()

    def take(self) -> States | None:
        """Of the window that was closed last; None where this thread did not sample it."""
        taken, self._states = self._states, None
        return taken

    @own_thread()
    def _run(self, seen: _Seen, ended: threading.Event) -> None:
        with guard("annotate stopped sampling stacks: the capture lacks the lines that take the time"):
            wait = INTERVAL_S
            while not ended.wait(wait * random.Random().uniform(0.5, 1.5)):
                begin = time.thread_time()
                seen.sample()
                wait = max(INTERVAL_S, (time.thread_time() - begin) / SHARE)


WORKERS_NOT_SAMPLED: Final = "DataLoader workers were not sampled"


class _Seen:
    """What one window's samples are."""

    def __init__(self, training: int, why: str) -> None:
        self._training = training
        self._unseen = (f"{WORKERS_NOT_SAMPLED}: only a separate process can, and {why or 'none ran'}", _ROUGH)
        self._threads: dict[int, int] = {}
        """Identity of a thread -> its place in `_watched`."""
        self._watched: list[WatchedThread] = []
        self._table = Table()
        self._records: list[bytes] = []
        self._cpu = 0.0
        self._took: list[int] = []

    def sample(self) -> None:
        if len(self._records) >= MOST_RECORDS:
            return
        self._look_for_threads()
        begin = perf_counter_ns()
        frames = sys._current_frames()
        for ident, number in self._threads.items():
            if ident in frames:
                stack = self._table.node(_places(frames[ident]))
                self._records.append(watcher.RECORD.pack(begin, number, UNKNOWN_STATE, 0, 0, 0, stack))
        del frames
        if len(self._took) < MOST_TIMES:
            self._took.append(perf_counter_ns() - begin)
        self._cpu = time.thread_time()

    def _look_for_threads(self) -> None:
        for thread in threading.enumerate():
            ident, tid = thread.ident, thread.native_id
            if ident is None or tid is None or ident in self._threads or thread.name.startswith(OURS):
                continue
            is_training = ident == self._training
            if is_training or len(self._threads) <= MOST_BESIDE:
                self._threads[ident] = len(self._watched)
                self._watched.append(WatchedThread(os.getpid(), tid, False, is_training, not is_training))

    def states(self) -> States:
        took = sorted(self._took)
        facts: dict[str, Any] = {"took_ns": took[len(took) * 99 // 100] if took else 0, "blind": {}}
        facts["unread"] = sum(watcher.RECORD.unpack(record)[-1] == UNREAD for record in self._records)
        return States(
            threads=list(self._watched),
            records=b"".join(self._records),
            cpu_ns=round(self._cpu * 1e9),
            stacks=json.dumps({**self._table.columns(), **facts, "unseen": self._unseen}).encode(),
        )


def _places(frame: FrameType | None) -> list[Place]:
    """Outermost first."""
    found: list[Place] = []
    while frame is not None and len(found) < MOST_FRAMES:
        code = frame.f_code
        found.append((_name(code), code.co_filename, frame.f_lineno or 0, code.co_firstlineno))
        frame = frame.f_back
    return found[::-1]


def _name(code: Any) -> str:
    name: str = getattr(code, "co_qualname", code.co_name)  # Python 3.10 has none
    return name
