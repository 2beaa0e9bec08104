"""A file that one process appends to. Nothing is buffered: what was written is there, also after a kill."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class Appended:
    """Open for appending. `size`: bytes."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        """Raises: OSError: it cannot be opened, or is there although it should be new."""
        self._file = os.open(path, _APPEND | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o666)
        self.size = os.fstat(self._file).st_size

    def write(self, data: bytes) -> None:
        """Raises: OSError."""
        self.size += len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Harmless when it is closed."""
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)
