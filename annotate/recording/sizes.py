"""How many bytes a stage's result has."""

from __future__ import annotations

from itertools import islice
from mmap import mmap
from typing import Any, Final

from annotate.recording.rows import UNKNOWN

_DEEP_MODES: Final = {"I": 4, "F": 4, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
"""Modes of PIL whose bands take more than a byte."""


_LAZY: Final = frozenset(("h5py", "h5netcdf", "zarr", "dask", "xarray"))
"""Packages whose arrays have a size before anything of them was read."""

_MOST: Final = 16
"""Values of a container that are looked at: a sample of ten thousand numbers must cost no more than it took to make."""
_IN_ALL: Final = 64
_DEPTH: Final = 4


def size_of(value: Any) -> int:
    """Bytes of a stage's result: arrays, tensors, PIL images, bytes, text, and containers of these; -1: not known.

    A container of more than `_MOST` values is as large as its first ones say; `_IN_ALL` values and `_DEPTH` levels are
    looked at.
    """
    if type(value) not in (tuple, list, dict):
        return _size_of_one(value)
    total, is_known, looked_at = 0.0, False, 0
    level = [(value, 1.0)]
    for _ in range(_DEPTH):
        inner: list[tuple[Any, float]] = []
        most = min(_MOST, (_IN_ALL - looked_at) // max(1, len(level)))
        for container, times in level:
            items = container.values() if type(container) is dict else container
            some = list(islice(items, most))  # in one go: another thread may change it
            looked_at += len(some)
            stands_for = times * len(container) / max(1, len(some))
            for item in some:
                if type(item) in (tuple, list, dict):
                    inner.append((item, stands_for))
                elif (size := _size_of_one(item)) >= 0:
                    total, is_known = total + stands_for * size, True
        level = inner
    return round(total) if is_known else UNKNOWN


def _is_a_file(array: Any) -> bool:
    """A file that was mapped into memory and not read, not a part of one."""
    return isinstance(array.base, mmap)


def _size_of_one(value: Any) -> int:
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value)
    if kind in (int, float, bool, type(None)):
        return UNKNOWN
    try:
        if kind.__module__.partition(".")[0] in _LAZY:
            return UNKNOWN
        nbytes = getattr(value, "nbytes", None)
        if type(nbytes) is int:
            return UNKNOWN if kind.__name__ == "memmap" and _is_a_file(value) else nbytes
        if hasattr(value, "getbands"):
            if getattr(value, "tile", None):  # opened, not decoded yet
                return UNKNOWN
            width, height = value.size
            return int(width * height * len(value.getbands()) * _DEEP_MODES.get(value.mode, 1))
    except Exception:  # a property of somebody else's class may raise anything
        pass
    return UNKNOWN
