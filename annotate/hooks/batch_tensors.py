"""How many tensors a batch has that the training process made: a DataLoader worker would send each by itself."""

from __future__ import annotations

import sys
from collections import UserDict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

_MOST: Final = 4096
"""Values that are looked at."""
_DEPTH: Final = 4

_found: Final[list[int]] = []


def look_at(batch: object) -> None:
    """While a window is recorded: at its first batch that has tensors."""
    if not _found:
        with suppress(Exception):  # a batch may be anything
            count = count_tensors(batch)
            if count:
                _found.append(count)


def forget() -> None:
    """A window begins."""
    _found.clear()


def found() -> int | None:
    """Tensors of a batch of the window that was recorded last; None: not known."""
    return _found[0] if _found else None


def count_tensors(batch: object) -> int | None:
    """In dicts, lists and tuples, `_DEPTH` deep; None: not known. Runs no code of the batch's own classes."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    count, looked_at, level = 0, 0, [batch]
    for _ in range(_DEPTH):
        inner: list[Any] = []
        for value in level:
            if issubclass(type(value), torch.Tensor):
                count += 1
            else:
                inner.extend(_values_in(value))
        looked_at += len(level)
        if looked_at + len(inner) > _MOST:
            return None
        level = inner
    return count


def _values_in(value: Any) -> Iterable[Any]:
    kind = type(value)
    if issubclass(kind, UserDict):
        value = vars(value).get("data")
        kind = type(value)
    if issubclass(kind, dict):
        return list(dict.values(value))
    if issubclass(kind, list):
        return list(list.__iter__(value))
    return list(tuple.__iter__(value)) if issubclass(kind, tuple) else ()
