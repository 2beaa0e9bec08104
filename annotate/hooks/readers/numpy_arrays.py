"""numpy: files of arrays, and arrays that stay in their file until they are copied."""

from __future__ import annotations

from typing import Any, Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on


def _is_in_a_file(array: Any, *args: Any, **kwargs: Any) -> bool:
    """A copy of a memmap is one by class, and in memory."""
    return array._mmap is not None


def _copies(array: Any, index: Any) -> bool:
    """A slice of a memmap reads nothing; numbers and masks in a list or an array do."""
    return type(index).__name__ in ("list", "ndarray") and array._mmap is not None


_COPIES: Final = {f"memmap.{name}": f"numpy.memmap.{name}" for name in ("copy", "astype", "tobytes", "tolist")}

READER: Final = Reader(
    "numpy",
    (
        *hooks_on("numpy", "decode", {name: f"numpy.{name}" for name in ("load", "loadtxt", "genfromtxt")}),
        *hooks_on("numpy", "read", {"fromfile": "numpy.fromfile", "memmap.__new__": "numpy.memmap"}),
        *hooks_on("numpy", "read", _COPIES, when=_is_in_a_file),
        Hook("numpy", "memmap.__getitem__", "read", "numpy.memmap[...]", _copies),
        Hook("numpy.lib.npyio", "NpzFile.__getitem__", "decode", "numpy.NpzFile"),
    ),
)
"""The arrays of an npz file are read and unzipped when they are asked for, not by ``numpy.load``."""
