"""A copy of a dataset for a replay: what the copy does to its own state must not reach the original.

Bulk data and code are shared, not copied: arrays and tensors, which may fill the memory, and functions and classes,
which pickle by name only. Everything else is copied as it would be for a worker.
"""

from __future__ import annotations

import copy
import io
import pickle
import sys
import types
from typing import Any, Final

SHARED_ABOVE: Final = 1 << 20
"""Bytes of an array or tensor from which it is shared; smaller ones may be state."""

_CODE: Final = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)


def isolated_copy(obj: Any) -> tuple[Any, bool]:
    """A copy of `obj`, and whether it is isolated: one that cannot be pickled is copied one level deep only."""
    shared: list[object] = []
    try:
        buffer = io.BytesIO()
        _Pickler(buffer, shared).dump(obj)
        buffer.seek(0)
        return _Unpickler(buffer, shared).load(), True
    except Exception:  # whatever an object's own pickling may raise: open files, locks, C objects
        return copy.copy(obj), False


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, shared: list[object]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._shared = shared

    def persistent_id(self, obj: object) -> int | None:
        if not isinstance(obj, _CODE) and not _is_bulk(obj):
            return None
        self._shared.append(obj)
        return len(self._shared) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: list[object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, pid: int) -> object:
        return self._shared[pid]


def _is_bulk(obj: object) -> bool:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    is_tensor = torch is not None and isinstance(obj, torch.Tensor)
    is_array = numpy is not None and isinstance(obj, numpy.ndarray)
    return (is_tensor or is_array) and obj.nbytes > SHARED_ABOVE  # type: ignore[attr-defined]
