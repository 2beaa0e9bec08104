"""Where the threads of this process wait for Python's lock (the GIL): the address that the kernel shows of such a wait.

A thread that waits for the lock sleeps in the kernel on the lock's condition variable. Which address that is, is found
by making a thread wait: a probe wakes up while this thread holds the lock inside of C functions that keep it
(`ctypes.PyDLL`), and one of these functions reads where the probe sleeps. It takes some milliseconds, once.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from annotate.host.watcher import FUTEX, WORD

_ALIKE: Final = 2
"""Answers that must agree."""
_HELD_US: Final = (700,) * 20 + (3000,) * 20
"""How long the lock is held, try by try: enough for the probe to wake up, longer where it has no CPU by then, and below
the 5 ms after which Python takes the lock away.
"""
_NOT_SEEN: Final = "a thread that waits for the lock was not seen to wait at one place"

_found: dict[int, int | str] = {}
"""Process -> its answer. A forked child keeps the address of its parent, and asks again what failed there. So does a
later window where the CPUs were full: with a busy start alone, all of a long run would go without.
"""


def address() -> int | str:
    """The address without its last `WORD` bits; or, as a sentence, why it cannot be known."""
    pid = os.getpid()
    if _found.get(pid, _NOT_SEEN) == _NOT_SEEN:
        known = next((one for one in _found.values() if isinstance(one, int)), None)
        _found.clear()
        _found[pid] = _why_not() or known or _measure()
    return _found[pid]


def _why_not() -> str:
    if sys.platform != "linux":
        return "only Linux shows what threads wait for"
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "this Python runs without a global lock"
    if os.uname().machine not in FUTEX:
        return f"not known how {os.uname().machine} waits for a lock"
    return ""


def _measure() -> int | str:
    try:
        return _where_a_probe_waits()
    except (OSError, AttributeError, RuntimeError, ImportError) as error:
        return f"{type(error).__name__}: {error}"


def _where_a_probe_waits() -> int | str:
    libc = ctypes.PyDLL(None)
    usleep, pread = libc.usleep, libc.pread
    pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
    buffer = ctypes.create_string_buffer(256)
    number = FUTEX[os.uname().machine]
    seen: dict[int, int] = {}
    with _Probe() as probe:
        file = os.open(f"/proc/self/task/{probe.tid}/syscall", os.O_RDONLY | os.O_CLOEXEC)
        try:
            for held_us in _HELD_US:
                time.sleep(0)  # whoever waits for the lock has it first, so that nobody asks for it meanwhile
                place = _hold_and_look(partial(usleep, held_us), lambda: pread(file, buffer, 255, 0), buffer, number)
                seen[place] = seen.get(place, 0) + 1
                if place and seen[place] >= _ALIKE:
                    return place
        finally:
            os.close(file)
    return _NOT_SEEN


def _hold_and_look(hold: Callable[[], object], look: Callable[[], int], buffer: Any, number: int) -> int:
    """0 where the probe does not wait in a futex."""
    hold()
    length = look()
    words = buffer.raw[: max(0, length)].split()
    return int(words[1], 16) >> WORD if len(words) > 1 and words[0] == b"%d" % number else 0


class _Probe:
    """A thread that wants the lock every 0.2 ms, unknown to `threading`."""

    def __init__(self) -> None:
        self.tid = 0
        self._is_wanted = True
        self._ended = _thread.allocate_lock()

    def __enter__(self) -> _Probe:
        self._ended.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except BaseException:
            self._ended.release()
            raise
        while not self.tid:
            time.sleep(0.0001)
        return self

    def __exit__(self, *error: object) -> None:
        self._is_wanted = False
        self._ended.acquire()

    def _run(self) -> None:
        try:
            self.tid = _thread.get_native_id()
            while self._is_wanted:
                time.sleep(0.0002)
        finally:
            self._ended.release()
