"""When a program's passes over its DataLoaders began and were over, by their iterators: nothing is done for a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns as clock
from typing import Any, Final
from weakref import ref

_MOST: Final = 64
"""Passes that are kept, the latest ones."""


class Pass:
    """One iterator of a loader; times by ``perf_counter_ns``."""

    def __init__(self, loader: int, iterator: Any, began: int) -> None:
        self.loader: Final = loader
        self.began: Final = began
        self.ended: int | None = None
        """When the program let go of the iterator; None: it has not, or goes through it once more."""
        self.is_over = False
        self._iterator: ref[Any] | None = None
        with suppress(TypeError):  # of a class that cannot be watched
            self._iterator = ref(iterator, self._let_go)

    def is_of(self, iterator: Any) -> bool:
        return self._iterator is not None and self._iterator() is iterator

    def leave(self) -> None:
        """Another pass has the same iterator: persistent workers keep theirs."""
        self._iterator, self.is_over = None, True

    def _let_go(self, _: ref[Any], clock: Callable[[], int] = clock) -> None:
        """`clock`: the module's is gone when an iterator lives to the end of Python."""
        self.ended = clock()
        self.leave()


class Passes:
    """Those of one process, and the time between them: after one was over, and before another began."""

    def __init__(self) -> None:
        self.latest: Final[deque[Pass]] = deque(maxlen=_MOST)
        self.times = self.between_ns = self.longest_ns = 0
        """Of the time between two passes."""
        self._first: int | None = None

    def begun(self, loader: int, iterator: Any, began: int) -> None:
        """An iterator has been made, or begins again; ``iter(loader)`` was called at `began`."""
        for each in self.latest:
            if each.is_of(iterator):
                each.leave()
        self._note_time_before(began)
        self._first = began if self._first is None else self._first
        self.latest.append(Pass(loader, iterator, began))

    def of(self, loader: int) -> list[tuple[float, float | None]]:
        """Beginning and end of its latest passes, in microseconds."""
        return [
            (each.began / 1000, None if each.ended is None else each.ended / 1000)
            for each in self.latest
            if each.loader == loader
        ]

    @property
    def whole_ns(self) -> int:
        """From the first pass to the beginning of the latest."""
        return self.latest[-1].began - (self._first or 0) if self.latest else 0

    def _note_time_before(self, began: int) -> None:
        ends = [each.ended for each in self.latest]
        if not ends or ends[-1] is None or not all(each.is_over for each in self.latest):
            return
        time = began - max(end for end in ends if end is not None)
        if time >= 0:
            self.times += 1
            self.between_ns += time
            self.longest_ns = max(self.longest_ns, time)
