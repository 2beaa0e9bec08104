"""Time in Python's garbage collector, which stops every thread of its process that runs Python."""

from __future__ import annotations

import gc
import os
from _thread import get_ident
from time import perf_counter_ns
from typing import Any, Final

SHORTEST_NS: Final = 50_000
"""A shorter collection has no place in `collections`: the youngest objects are collected hundreds of times a second."""
MOST: Final = 20_000
"""Collections that are remembered."""

_total_ns = 0
_began = 0
_users = 0
_thread = 0
"""Whose collections are remembered."""
collections: list[tuple[int, int]] = []
"""Beginning and end of each of them (perf_counter_ns), since `remember`."""
elsewhere: list[tuple[int, int]] = []
"""The same of all other threads."""


def start() -> None:
    """Count from now on; each call needs its `stop`."""
    global _users
    _users += 1
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)


def stop() -> None:
    """Count no more, once everybody has stopped."""
    global _users
    _users = max(0, _users - 1)
    if not _users and _note in gc.callbacks:
        gc.callbacks.remove(_note)


def remember(thread: int = 0) -> None:
    """From now on, when collections ran in a thread (`get_ident`) and elsewhere, and forget those of before; 0: no more
    of them.
    """
    global _thread, collections, elsewhere
    _thread = thread
    if thread:
        collections, elsewhere = [], []


def total_ns() -> int:
    """Time in the collector while it was counted."""
    return _total_ns


def _note(phase: str, info: dict[str, Any]) -> None:
    global _total_ns, _began
    if phase == "start":
        _began = perf_counter_ns()
    elif _began:
        now = perf_counter_ns()
        _total_ns += now - _began
        if _thread and now - _began >= SHORTEST_NS:
            several = collections if get_ident() == _thread else elsewhere
            if len(several) < MOST:
                several.append((_began, now))
        _began = 0


def _after_fork() -> None:
    """A forked child counts nothing until it asks to."""
    global _users, _began, _thread
    _users = _began = _thread = 0
    if _note in gc.callbacks:
        gc.callbacks.remove(_note)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
