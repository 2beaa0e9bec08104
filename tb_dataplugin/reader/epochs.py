"""What a program left beside its trace when it was over: what lies between its epochs, which no window has."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Final

import msgspec

from annotate.trace_format import EPOCHS_SUFFIX
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.model.trace import Between
from tb_dataplugin.reader.discovery import strip_suffix
from tb_dataplugin.reader.opening import Roots, open_trace

EPOCHS_BYTES: Final = 4096
"""Bytes of such a file."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e10)]


class _Left(msgspec.Struct, frozen=True):
    times: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    seconds: _Seconds
    longest_s: _Seconds
    whole_s: _Seconds
    made: _Count
    loader: _Count


def epochs_beside(trace: Path, roots: Roots = ()) -> bytes:
    """The file as it stands; empty without one."""
    try:
        with open_trace(_beside(trace), roots) as file:
            return file.read(EPOCHS_BYTES)
    except (OSError, ValueError, UnreadableTrace):
        return b""


def read_between(trace: Path, roots: Roots = ()) -> Between | None:
    """None for what is no such file."""
    left = _parsed(epochs_beside(trace, roots))
    if left is None:
        return None
    return Between(left.times, 1e6 * left.seconds, 1e6 * left.longest_s, 1e6 * left.whole_s, left.made, left.loader)


def leave_epochs(trace: Path, left: bytes) -> None:
    """Beside a copy of the trace, where `left` is such a file and nothing lies there; numbers only. Never raises."""
    if known := _parsed(left):
        with contextlib.suppress(OSError), _beside(trace).open("xb") as file:
            file.write(msgspec.json.encode(known))


def _beside(trace: Path) -> Path:
    return trace.with_name(strip_suffix(trace.name) + EPOCHS_SUFFIX)


def _parsed(left: bytes) -> _Left | None:
    try:
        return msgspec.json.decode(left, type=_Left)
    except msgspec.MsgspecError:
        return None
