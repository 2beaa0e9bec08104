"""What was used last, as far as memory allows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Shelf(Generic[_T]):
    """Values by key, at most `limit_bytes` of them: the least recently used goes first. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._values: OrderedDict[str, tuple[_T, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> _T | None:
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: str, value: _T, size: int) -> None:
        """The newest stays even where it is larger than the limit: it is about to be used."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = (value, size)
            self._bytes += size - before
            while self._bytes > self._limit_bytes and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                self._bytes -= gone
