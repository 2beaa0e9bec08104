"""Deep copies of batches, as the loop would get them: pinned where they are, and only from the host's memory."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from annotate.recording.sizes import size_of
from annotate.saying import one_line

MOST: Final = 1 << 30
"""Bytes of all copies."""

SHARE: Final = 4
"""They take so many-th part of the free memory at most."""

_DEPTH: Final = 6
_MOST_VALUES: Final = 100_000
_PLAIN: Final = (int, float, complex, bool, type(None))


class CannotCopy(Exception):
    """Says why."""


class Copied(NamedTuple):
    batch: Any
    bytes: int


def most_bytes(meminfo: Path = Path("/proc/meminfo")) -> int:
    """That copies may take."""
    with suppress(OSError, ValueError, StopIteration, IndexError):
        lines = meminfo.read_text(encoding="ascii").splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        return min(MOST, int(free.split()[1]) * 1024 // SHARE)
    return MOST


def copy_of(batch: object, room: int) -> Copied | None:
    """None where it is larger than `room`, in bytes. No random state changes.

    Raises:
        CannotCopy: it has tensors on a device, or parts that cannot be copied, or whose size is not known.
    """
    leaves = list(_leaves(batch))
    if len(leaves) > _MOST_VALUES:
        raise CannotCopy(f"a batch has more than {_MOST_VALUES:,} parts")
    size = sum(map(_bytes_of, leaves))
    if size > room:
        return None
    try:
        kept = {id(leaf): leaf.detach().clone().pin_memory() for leaf in leaves if _is_pinned(leaf)}
        return Copied(copy.deepcopy(batch, kept), size)
    except Exception as error:
        raise CannotCopy(f"a batch cannot be copied: {one_line(error)}") from None


def _leaves(batch: object) -> Iterator[Any]:
    """What a batch consists of, level by level; each object once."""
    level, seen = [batch], {id(batch)}
    for _ in range(_DEPTH):
        inner: list[Any] = []
        for value in level:
            parts = _parts(value)
            if parts is None:
                yield value
                continue
            for part in parts:
                if id(part) not in seen:
                    seen.add(id(part))
                    inner.append(part)
        level = inner
    yield from level


def _parts(value: Any) -> list[Any] | None:
    """None: it has none, or is an array."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if size_of(value) >= 0 or isinstance(value, _PLAIN):
        return None
    return list(vars(value).values()) if hasattr(value, "__dict__") else None


def _bytes_of(leaf: Any) -> int:
    device = getattr(getattr(leaf, "device", None), "type", "cpu")
    if device != "cpu":
        raise CannotCopy(f"its batches are on a device ({device}), and copies would take memory there")
    size = size_of(leaf)
    if size < 0 and not isinstance(leaf, _PLAIN):
        raise CannotCopy(f"the size of its batches is not known: they have parts of type {type(leaf).__name__}")
    return max(0, size)


def _is_pinned(leaf: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(leaf, torch.Tensor):
        return False
    return torch.cuda.is_initialized() and bool(leaf.is_pinned())
