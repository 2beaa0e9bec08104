"""Time in Python's garbage collector, which stops every thread of its process that runs Python."""

from __future__ import annotations

import gc
import os
from time import perf_counter_ns
from typing import Any

_total_ns = 0
_began = 0
_users = 0


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


def total_ns() -> int:
    """Time in the collector while it was counted."""
    return _total_ns


def _note(phase: str, info: dict[str, Any]) -> None:
    global _total_ns, _began
    if phase == "start":
        _began = perf_counter_ns()
    elif _began:
        _total_ns += perf_counter_ns() - _began
        _began = 0


def _after_fork() -> None:
    """A forked child counts nothing until it asks to."""
    global _users, _began
    _users = _began = 0
    if _note in gc.callbacks:
        gc.callbacks.remove(_note)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
