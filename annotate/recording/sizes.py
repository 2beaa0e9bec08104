"""How many bytes a stage's result has."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from annotate.recording.rows import UNKNOWN

_DEEP_MODES: Final = {"I": 4, "F": 4, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Modes of PIL whose bands take more than a byte."""


_MOST: Final = 1024
"""Values that are looked at: a batch has fewer, what a JSON file holds may have any number."""
_DEPTH: Final = 4


def size_of(value: Any) -> int:
    """Bytes of a stage's result: arrays, tensors, PIL images, bytes, text, and containers of these; -1: not known.

    Of what has more than `_MOST` values or `_DEPTH` levels, the part that was looked at.
    """
    if type(value) not in (tuple, list, dict):
        return _size_of_one(value)
    total, is_known = 0, False
    level, looked_at = [value], 0
    for _ in range(_DEPTH):
        inner: list[Any] = []
        for container in level:
            items = container.values() if type(container) is dict else container
            for item in list(islice(items, _MOST - looked_at)):  # in one go: another thread may change it
                looked_at += 1
                if type(item) in (tuple, list, dict):
                    inner.append(item)
                    continue
                size = _size_of_one(item)
                if size >= 0:
                    total, is_known = total + size, True
        level = inner
    return total if is_known else UNKNOWN


def _size_of_one(value: Any) -> int:
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value)
    if kind in (int, float, bool, type(None)):
        return UNKNOWN
    try:
        nbytes = getattr(value, "nbytes", None)
        if type(nbytes) is int:
            return nbytes
        if hasattr(value, "getbands"):
            if getattr(value, "tile", None):  # opened, not decoded yet
                return UNKNOWN
            width, height = value.size
            return int(width * height * len(value.getbands()) * _DEEP_MODES.get(value.mode, 1))
    except Exception:  # a property of somebody else's class may raise anything
        pass
    return UNKNOWN
