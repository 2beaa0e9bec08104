"""How many bytes a stage's result has."""

from __future__ import annotations

from typing import Any, Final

from annotate.recording.rows import UNKNOWN

_DEEP_MODES: Final = {"I": 4, "F": 4, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Modes of PIL whose bands take more than a byte."""


def size_of(value: Any, depth: int = 4) -> int:
    """Bytes of a stage's result: arrays, tensors, PIL images, bytes, text, and containers of these; -1: not known."""
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value)
    if kind in (tuple, list, dict):
        items = value.values() if kind is dict else value
        sizes = [size_of(item, depth - 1) for item in list(items)[:1024]] if depth else []
        known = [size for size in sizes if size >= 0]
        return sum(known) if known else UNKNOWN
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
