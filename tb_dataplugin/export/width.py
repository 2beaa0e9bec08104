"""How wide the text is: as the terminal, within limits; 100 columns everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

WIDEST: Final = 100
NARROWEST: Final = 40
"""Text stands out of a terminal that is narrower still, and so does what is to be copied: code, commands."""

_columns: Final = ContextVar("columns", default=WIDEST)
_room: Final = ContextVar("room", default=WIDEST)


def columns() -> int:
    """Of the text that is being written."""
    return _columns.get()


def room() -> int:
    """For lines that are cut off where the width ends: all that a wide terminal has."""
    return _room.get()


@contextmanager
def as_wide_as(width: int) -> Iterator[None]:
    """In the block `columns` is `width`, within the limits, and `room` is not limited above."""
    token, wide = _columns.set(max(NARROWEST, min(WIDEST, width))), _room.set(max(NARROWEST, width))
    try:
        yield
    finally:
        _columns.reset(token)
        _room.reset(wide)
