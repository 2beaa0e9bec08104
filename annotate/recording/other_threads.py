"""Spans of threads beside the one that is recorded: of the training process (torch's profiler keeps no markers of
theirs) and of DataLoader workers.

Such threads make batches ahead of the loop (producers, buffers), or parts of a sample (a pool in ``__getitem__``).
Their spans are rare beside those of the thread that is recorded, so each is one tuple, with the thread that ran it; the
trace has them in rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_native_id
from time import perf_counter_ns as clock
from time import thread_time_ns as cpu_clock
from typing import Any, Final, NamedTuple

from annotate.recording import switch
from annotate.recording.rows import UNKNOWN

MOST: Final = 1 << 18
"""Spans kept of one window; in a DataLoader worker of one batch."""


class ThreadSpan(NamedTuple):
    """One span; times in ``perf_counter_ns``."""

    thread: int
    """As the system numbers it."""
    name: str
    start: int
    end: int
    cpu: int
    item: int
    """Dataset index of a sample, `UNKNOWN` otherwise."""


_spans: Final[list[ThreadSpan]] = []
lost = 0
"""Spans beyond `MOST`."""


def call(name: str, index: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)`` in a span."""
    start, cpu = clock(), cpu_clock()
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        keep(switch.name_of_end(name) if isinstance(error, StopIteration) else name, start, cpu, index)
        raise
    keep(name, start, cpu, index)
    return value


def keep(name: str, start: int, cpu: int, index: int = UNKNOWN) -> None:
    """A span of the calling thread ends. `start` and `cpu` are what both clocks showed when it began."""
    global lost
    if len(_spans) < MOST:
        _spans.append(ThreadSpan(get_native_id(), name, start, clock(), cpu_clock() - cpu, index))
    else:
        lost += 1


def begin() -> None:
    """A window opens."""
    global lost
    lost = 0
    _spans.clear()


def take() -> list[ThreadSpan]:
    """All spans so far, which are forgotten. Other threads may add some meanwhile: those are for the next time."""
    taken = _spans.copy()
    del _spans[: len(taken)]
    return taken
