"""Timed reads of samples, by one reader or several at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Reads:
    """`latencies_s`: of each sample that was read; `wall_s`: of all of them."""

    latencies_s: tuple[float, ...]
    size: int
    wall_s: float

    @property
    def per_s(self) -> float:
        """Samples."""
        return len(self.latencies_s) / self.wall_s

    @property
    def bytes_per_s(self) -> float:
        return self.size / self.wall_s

    def latency_s(self, percentile: float) -> float:
        return float(np.percentile(self.latencies_s, percentile))


class _Reading:
    """What threads share: numbers that are left, and what was read."""

    def __init__(self, read: Callable[[int], int], numbers: Iterable[int], until: float) -> None:
        self._read, self._numbers, self._until = read, iter(numbers), until
        self._lock = threading.Lock()
        self.latencies: list[float] = []
        self.size = 0
        self._has_begun = False
        self.stopped = False
        self.error: Exception | None = None

    def work(self) -> None:
        latencies: list[float] = []
        size = 0
        try:
            while not self.stopped and (number := self._next()) is not None:
                began = time.perf_counter()
                size += self._read(number)
                latencies.append(time.perf_counter() - began)
        except Exception as error:
            self.error = error
        with self._lock:
            self.latencies += latencies
            self.size += size

    def _next(self) -> int | None:
        with self._lock:
            is_late = self._has_begun and time.perf_counter() > self._until
            self._has_begun = True
            return None if is_late else next(self._numbers, None)


def timed(read: Callable[[int], int], numbers: Sequence[int], readers: int, seconds: float) -> Reads:
    """Each number once, until `seconds` are over; one at least. Raises what `read` raises."""
    began = time.perf_counter()
    reading = _Reading(read, numbers, began + seconds)
    if readers == 1:
        reading.work()
    else:
        _side_by_side(reading, readers)
    if reading.error is not None:
        raise reading.error
    return Reads(tuple(reading.latencies), reading.size, max(time.perf_counter() - began, 1e-9))


def timed_apart(
    read: Callable[[int], int], numbers: Sequence[int], seconds: float, before: Callable[[], object]
) -> Reads:
    """The same by one reader, with `before` between reads, which is not timed: the cache is emptied there.

    The kernel reads ahead, up to megabytes. Of a whole data set that is of no use to the next sample drawn; of the few
    that are packed here it would be.
    """
    until = time.perf_counter() + seconds
    latencies: list[float] = []
    size = 0
    for number in numbers:
        if latencies and time.perf_counter() > until:
            break
        before()
        began = time.perf_counter()
        size += read(number)
        latencies.append(time.perf_counter() - began)
    return Reads(tuple(latencies), size, max(sum(latencies), 1e-9))


def _side_by_side(reading: _Reading, readers: int) -> None:
    threads = [threading.Thread(target=reading.work, daemon=True) for _ in range(readers)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        reading.stopped = True  # Ctrl-C: none reads on in what is about to be removed
        for thread in threads:
            if thread.ident is not None:
                thread.join()
