"""What the C library's allocator has handed out in this process. Tensors and arrays on the CPU are its blocks.

Resident memory does not say what a program keeps: freed blocks between others that are kept stay resident. torch's
profiler keeps small ones of each operator. A recommender that makes gradients of 2.5 MB had 150 to 500 MB more after 50
steps of a window, and 4 to 10 MB more in use.
"""

from __future__ import annotations

import ctypes

_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def in_use() -> int | None:
    """Bytes; None where the C library does not tell. Another allocator, if one was put in its place, is not seen."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    mallinfo2.restype = _Mallinfo2
    found = mallinfo2()
    return int(found.uordblks + found.hblkhd)
