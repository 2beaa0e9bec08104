"""`open` while a session is on: files opened for reading inside a sample time their reads.

The files are real ``io.BufferedReader`` and ``io.TextIOWrapper`` objects. A read of at least `WORTH_MARKING` bytes, or
of all the rest, is a `read` span; smaller ones come from the buffer and would cost more to mark than they take.
"""

from __future__ import annotations

import builtins
import io
import pathlib
from collections.abc import Callable
from typing import Any, Final

from annotate.hooks.patching import Patches
from annotate.hooks.readers.reader import Reader, hooks_on, in_sample
from annotate.hooks.readers.timing import read
from annotate.hooks.stand_ins import TimedGlobal
from annotate.recording import switch
from annotate.recording.file_names import saw
from annotate.saying import one_line, report_fault

WORTH_MARKING: Final = 8192
"""Bytes: the size of Python's own file buffer."""

_READ: Final = switch.hand_out("read", "file")
_OPEN: Final = switch.hand_out("read", "open")


class TimedReader(io.BufferedReader):
    """A BufferedReader whose large reads are spans."""

    def __repr__(self) -> str:
        return super().__repr__().replace("<", "<_io.", 1)

    def read(self, size: int | None = -1, /) -> bytes:
        if not switch.RECORDING or (size is not None and 0 <= size < WORTH_MARKING):
            return super().read(size)
        return read("read", _READ, super().read, (size,), {})

    def read1(self, size: int = -1, /) -> bytes:
        if not switch.RECORDING or 0 <= size < WORTH_MARKING:
            return super().read1(size)
        return read("read", _READ, super().read1, (size,), {})

    def readinto(self, buffer: Any, /) -> int:
        if not switch.RECORDING or memoryview(buffer).nbytes < WORTH_MARKING:
            return super().readinto(buffer)
        return read("read", _READ, _read_into, (super().readinto, buffer), {})[1]

    def readlines(self, hint: int = -1, /) -> list[bytes]:
        if not switch.RECORDING:
            return super().readlines(hint)
        return read("read", _READ, super().readlines, (hint,), {})


def _read_into(readinto: Callable[[Any], int], buffer: Any) -> tuple[Any, int]:
    """What was read, with its length as its size."""
    count = readinto(buffer)
    return memoryview(buffer).cast("B")[:count], count


TimedReader.__name__ = TimedReader.__qualname__ = "BufferedReader"
TimedReader.__module__ = "_io"


def _install(patches: Patches) -> None:
    """Replace `builtins.open` and `io.open`, and what pathlib keeps of it.

    Missed is what reads below Python: ``os.read``, ``mmap``. A file that was opened outside of a sample is not timed.
    """
    timed = _TimedOpen(builtins.open, _OPEN, "builtins", "open")
    patches.set_global(builtins, "open", timed)
    patches.set_global(io, "open", timed)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10: `Path.open` looks there
    if accessor is not None:
        patches.set_global(accessor, "open", timed)


class _TimedOpen(TimedGlobal):
    """``open``, as long as a window is recorded and a sample is being loaded with a reader that times itself."""

    __slots__ = ()

    def __call__(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[str, int], int] | None = None,
    ) -> Any:
        original = self.target
        if (switch.RECORDING or switch.unrecorded is not None) and type(mode) is str and "r" in mode:
            saw(file)
        if not switch.RECORDING or not switch.in_sample() or isinstance(file, int) or opener is not None:
            return original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if mode not in ("r", "rb", "rt", "br", "tr") or buffering != -1:
            arguments = (file, mode, buffering, encoding, errors, newline, closefd, opener)
            return read("read", _OPEN, original, arguments, {})
        if "b" in mode and (encoding is not None or errors is not None or newline is not None):
            return original(file, mode, buffering, encoding, errors, newline, closefd, opener)  # raises
        return read("read", _OPEN, _opened, (original, file, mode, encoding, errors, newline, closefd), {})


def _opened(
    original: Callable[..., Any],
    file: Any,
    mode: str,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
    closefd: bool,
) -> Any:
    """``open(...)`` for reading, with a reader that times itself."""
    raw = original(file, "rb", 0, closefd=closefd)
    try:
        return _wrap(raw, mode, encoding, errors, newline)
    except Exception as error:
        raw.close()
        plain = original(file, mode, -1, encoding, errors, newline, closefd)  # the user's error raises here
        report_fault(f"annotate does not time the reading of files. Internal error: {one_line(error)}")
        return plain


def _wrap(raw: Any, mode: str, encoding: str | None, errors: str | None, newline: str | None) -> Any:
    """What `open` makes of a raw file (the steps of CPython's ``_pyio.open``)."""
    size = getattr(raw, "_blksize", 0)
    reader = TimedReader(raw, size if size > 1 else io.DEFAULT_BUFFER_SIZE)
    if "b" in mode:
        return reader
    text = io.TextIOWrapper(reader, encoding, errors, newline)
    text.mode = mode  # type: ignore[misc]
    return text


READERS: Final = (
    Reader("builtins", install=_install),
    Reader(
        "pathlib",
        hooks_on(
            "pathlib",
            "read",
            {f"Path.{name}": f"pathlib.{name}" for name in ("read_bytes", "read_text")},
            when=in_sample,
        ),
    ),
)
