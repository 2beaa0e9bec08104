"""What handing a batch over from a DataLoader worker would cost, measured where there are none: pickled, and back.

Once in a capture, in a warm-up step, on the batch that the loop gets next. Only what Python's pickle takes is measured:
torch hands over the memory of a tensor by itself, so tensors are counted and left alone. A batch with objects whose
pickling runs code of their own is not tried.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from annotate.saying import guard
from annotate.trace_format import HandingOver, PipelineMetadata

LONGEST_S: Final = 0.05
"""Pickling that takes longer is broken off: the loop stands still meanwhile."""
MOST_BYTES: Final = 1 << 26

_PLAIN_MODULES: Final = ("builtins", "collections", "datetime", "numpy")
"""Whose classes are pickled by code that only copies."""


class _NotTried(Exception):
    """It would take long, or would run the user's code."""


class Weighing:
    """Looks at one batch of a loop without DataLoader workers."""

    def __init__(self, further: Callable[[], PipelineMetadata]) -> None:
        """
        Args:
            further: what `record` says beside it.
        """
        self.is_due = False
        """The step that begins is a warm-up."""
        self._further, self._is_done = further, False
        self._found: HandingOver | None = None

    def look(self, loader: object, batch: object) -> None:
        """Only what the loop iterates itself shows that it has no workers."""
        if self._is_done or not self.is_due or getattr(loader, "num_workers", None) != 0:
            return
        self._is_done = True
        with guard("annotate.profile does not know what handing over a batch would cost"):
            self._found = cost_of(batch)

    def record(self) -> PipelineMetadata:
        found: PipelineMetadata = {} if self._found is None else {"handing_over": self._found}
        return {**found, **self._further()}


def cost_of(batch: object) -> HandingOver | None:
    """None where it was not tried, or cannot be pickled."""
    import torch

    collects = gc.isenabled()
    gc.disable()  # a collection of everything that the program holds would be most of the time
    try:
        return _measured(batch, torch.Tensor)
    except Exception:  # what pickle raises of somebody else's class may be anything
        return None
    finally:
        if collects:
            gc.enable()


def _measured(batch: object, tensor: type) -> HandingOver:
    """Once: a batch that was pickled before would be faster than the new ones that a worker sends."""
    began = perf_counter()
    sink = _Sink(began + LONGEST_S)
    pickler = _Pickler(sink, tensor)
    pickler.dump(batch)
    data = sink.getvalue()
    pickled = perf_counter()
    made = pickle.loads(data)
    loaded = perf_counter()
    del made
    return {
        "serialise_us": round((pickled - began) * 1e6, 3),
        "deserialise_us": round((loaded - pickled) * 1e6, 3),
        "bytes": len(data),
        "tensors": pickler.tensors,
    }


class _Sink(io.BytesIO):
    """Pickle writes a frame of 64 KB, or an array, at a time."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self._end = end

    def write(self, data: Any) -> int:
        if perf_counter() > self._end or self.tell() + len(data) > MOST_BYTES:
            raise _NotTried
        return super().write(data)


class _Pickler(pickle.Pickler):
    def __init__(self, sink: _Sink, tensor: type) -> None:
        super().__init__(sink)
        self._tensor = tensor
        self.tensors = 0

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, self._tensor):
            self.tensors += 1
            return int, ()
        if isinstance(value, type) or (_is_plain(type(value)) and getattr(value, "nbytes", 0) <= MOST_BYTES):
            return NotImplemented
        raise _NotTried


def _is_plain(cls: type) -> bool:
    """Pickling, and making it anew, runs no code of the class."""
    if cls.__module__.partition(".")[0] in _PLAIN_MODULES:
        return True
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return True
    own = ("__reduce_ex__", "__reduce__", "__getstate__", "__new__")
    copies = all(getattr(cls, name, None) is getattr(object, name, None) for name in own)
    return copies and not any(hasattr(cls, name) for name in ("__setstate__", "__getnewargs__", "__getnewargs_ex__"))
