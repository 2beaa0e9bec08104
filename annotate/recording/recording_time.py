"""How long the program has stood still for recording: a window that is prepared, closed, written, and judged.

It is no work of the program's, so whoever sums up a run leaves it out of what the program did (`whole_run`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns

done_ns = 0
"""Of what is over. Read as ``recording_time.done_ns``, never imported by name."""

_began = 0
"""When what goes on began; 0: nothing does."""


@contextmanager
def taken() -> Iterator[None]:
    """All in this block is ours. Within another such block, also of another thread, it counts once."""
    global _began
    if _began:
        yield
        return
    _began = perf_counter_ns()
    try:
        yield
    finally:
        _end()


@contextmanager
def theirs() -> Iterator[None]:
    """All in this block is the program's own, wherever it is called from."""
    global _began
    was_ours = bool(_began)
    if was_ours:
        _end()
    try:
        yield
    finally:
        if was_ours:
            _began = perf_counter_ns()


def total_ns() -> int:
    """With what goes on; from any thread."""
    began = _began
    return done_ns + (perf_counter_ns() - began if began else 0)


def _end() -> None:
    global _began, done_ns
    began, _began = _began, 0  # first: another thread that looks meanwhile must not count it twice
    done_ns += perf_counter_ns() - began
