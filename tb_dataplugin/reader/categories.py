"""What each spelling of an event's category means, in every era of Kineto.

`Operator`, `Kernel`, `Memcpy`, `Memset`, `Runtime` in torch 1.8 to 1.11; lower case since 1.12; `cuda_driver`,
`cuda_sync` and the MTIA and XPU names since 2.1.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category

_SPELLINGS: Final[dict[Category, tuple[str, ...]]] = {
    Category.CPU_OP: ("cpu_op", "operator"),
    Category.USER_ANNOTATION: ("user_annotation", "user"),
    Category.RUNTIME: (
        "runtime", "cuda_runtime", "cuda_driver", "mtia_runtime", "xpu_runtime", "xpu_driver",
        "privateuse1_runtime", "privateuse1_driver", "glow_runtime",
    ),
    Category.KERNEL: ("kernel", "mtia_ccp_events", "collective_comm", "hpu_op"),
    Category.MEMCPY: ("memcpy", "gpu_memcpy"),
    Category.MEMSET: ("memset", "gpu_memset"),
    Category.DEVICE_ANNOTATION: ("gpu_user_annotation",),
    Category.DEVICE_SYNC: ("cuda_sync", "xpu_sync", "cuda_event"),
    Category.PYTHON: ("python_function",),
    Category.OVERHEAD: ("overhead",),
    Category.PROFILER: ("trace",),
}  # fmt: skip
_CATEGORIES: Final = {spelling: category for category, spellings in _SPELLINGS.items() for spelling in spellings}

SPELLED: Final[dict[Category, str]] = {
    Category.CPU_OP: "cpu_op",
    Category.USER_ANNOTATION: "user_annotation",
    Category.RUNTIME: "cuda_runtime",
    Category.KERNEL: "kernel",
    Category.MEMCPY: "gpu_memcpy",
    Category.MEMSET: "gpu_memset",
    Category.DEVICE_ANNOTATION: "gpu_user_annotation",
    Category.DEVICE_SYNC: "cuda_sync",
    Category.PYTHON: "python_function",
    Category.OVERHEAD: "overhead",
}
"""How a trace that we write spells them."""

MTIA_COPY: Final = "dma"
"""Names of MTIA's copies, which are filed with its kernels, begin with this."""

NOT_KEPT: Final = (Category.OTHER, Category.PYTHON, Category.PROFILER)
"""No analysis looks at these. With Python stacks recorded they are most of a trace."""

NO_EXTENT: Final = (Category.OTHER, Category.PROFILER)
"""These do not show when something was recorded: the profiler's span also covers its own startup."""

LINKED: Final = (Category.RUNTIME, *DEVICE_ACTIVITY)


def category_of(spelling: object) -> Category:
    return _CATEGORIES.get(spelling.lower(), Category.OTHER) if isinstance(spelling, str) else Category.OTHER


def selector(categories: Collection[Category]) -> npt.NDArray[np.bool_]:
    """A table: whether the category of that number is one of `categories`."""
    return np.array([category in categories for category in Category], dtype=np.bool_)


def integer(value: object, otherwise: int) -> int:
    """Ids are written as integers, as decimal text, or as hexadecimal text (ROCm)."""
    if isinstance(value, bool):
        return otherwise
    if isinstance(value, int):
        return value if abs(value) < 2**63 else otherwise
    if isinstance(value, str):
        try:
            return integer(int(value, 0), otherwise)
        except ValueError:
            return otherwise
    return otherwise


def integers(values: list[Any]) -> npt.NDArray[np.int64]:
    """The ids, -1 for what is none."""
    try:
        column = np.array(values, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        column = None
    if column is None or column.ndim != 1:  # lists among them
        column = np.array([integer(value, -1) for value in values], dtype=np.int64)
    return column


def text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
