"""A folder of entries: atomic, bounded, and never a reason to fail.

The folder may hold the user's own files: only files of exactly our form are ever deleted. What others could have
written is not read (`trust`).

Several processes may use it at once. An entry is written beside its place and moved there whole; one that is deleted
while it is read stays readable until it is closed. Entries are read, not mapped: a mapped file that is cut short, or
vanishes from a network home, kills its reader with SIGBUS.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Mapping
from io import FileIO
from pathlib import Path
from typing import Final, TypeVar

from tb_dataplugin.cache import layout
from tb_dataplugin.cache.trust import distrust_folder, is_trusted_file
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.timeline.lanes import TimelineSource

ENVIRONMENT: Final = "TB_DATAPLUGIN_CACHE"
OFF: Final = "off"
LIMIT_BYTES: Final = 1 << 30
SUFFIX: Final = ".capture"
UNFINISHED: Final = ".tmp"
ENTRY: Final = re.compile(r"[0-9a-f]{40}\.capture")
HALF: Final = re.compile(r"[0-9a-f]{40}\.[0-9a-f]{16}\.tmp")
"""Names of entries, and of entries that are being written: keys are hashes."""
UNFINISHED_FOR_S: Final = 3600.0
"""An unfinished entry older than this was left by a process that was killed."""

_T = TypeVar("_T")


class Store:
    """Entries in `folder`, at most `limit_bytes` of them; those that were not used for longest go first."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder, self.limit_bytes = folder, limit_bytes

    def capture(self, key: str) -> Capture | None:
        """None when the entry is missing or damaged."""
        return self._read(key, _read_capture)

    def timeline(self, key: str) -> TimelineSource | None:
        """None when the entry is missing or damaged."""
        return self._read(key, _read_timeline)

    def save(self, key: str, capture: Capture, timeline: TimelineSource) -> bool:
        """Whether the entry could be kept; a full or read-only disk is not an error."""
        buffers = layout.pack(capture, timeline)
        if sum(map(len, buffers)) > self.limit_bytes:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.distrusted() is not None:
                return False
            self._write(key, buffers)
        except OSError:
            return False
        self._trim(self._path(key))
        return True

    def distrusted(self) -> str | None:
        """Why the folder is not used, as one line; None: it is."""
        return distrust_folder(self.folder)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _read(self, key: str, read: Callable[[FileIO], _T]) -> _T | None:
        path = self._path(key)
        if self.distrusted() is not None:
            return None
        try:
            with os.fdopen(os.open(path, _READ), "rb", buffering=0) as file:
                facts = os.fstat(file.fileno())
                if not is_trusted_file(facts) or facts.st_size > self.limit_bytes:
                    return None
                content = read(file)
        except OSError:
            return None
        except (layout.Damaged, MemoryError):
            if _is_ours(path):
                _remove(path)
            return None
        _touch(path)
        return content

    def _write(self, key: str, buffers: list[bytes | memoryview]) -> None:
        path = self.folder / f"{key}.{secrets.token_hex(8)}{UNFINISHED}"
        descriptor = os.open(path, _CREATE, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(buffers)
            path.replace(self._path(key))
        except BaseException:
            _remove(path)
            raise

    def _trim(self, newest: Path) -> None:
        """Delete the entries that were not used for longest until the rest is within the limit."""
        total = 0
        for used, size, path in sorted(self._files(), reverse=True):
            stale = path.suffix == UNFINISHED and used < time.time() - UNFINISHED_FOR_S
            total += size
            if (total > self.limit_bytes and path != newest and path.suffix == SUFFIX) or stale:
                _remove(path)
                total -= size

    def _files(self) -> list[tuple[float, int, Path]]:
        """Last use, size and path of whatever we wrote here."""
        entries = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as listing:
            for entry in listing:
                if _is_ours(Path(entry.path)):
                    with contextlib.suppress(OSError):  # another process deletes here too
                        facts = entry.stat(follow_symlinks=False)
                        entries.append((facts.st_mtime, facts.st_size, Path(entry.path)))
        return entries


_BINARY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY


def _is_ours(path: Path) -> bool:
    """Whether name and first bytes are those of what we write; of an unfinished entry even the first may be missing."""
    finished = ENTRY.fullmatch(path.name) is not None
    if not finished and not HALF.fullmatch(path.name):
        return False
    try:
        with os.fdopen(os.open(path, _READ), "rb", buffering=0) as file:
            head = file.read(len(layout.MAGIC)) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return False
    return head is not None and (head == layout.MAGIC or (not finished and layout.MAGIC.startswith(head)))


def _read_header(file: FileIO) -> tuple[layout.Header, int]:
    """The header, and where the columns begin; the file then stands at the capture."""
    size, crc = layout.unpack_prefix(file.read(layout.PREFIX.size))
    header = layout.unpack_header(_exactly(file, size), crc)
    offset = layout.columns_offset(size, header)
    if offset + header.columns.size != os.fstat(file.fileno()).st_size:
        raise layout.Damaged
    return header, offset


def _read_capture(file: FileIO) -> Capture:
    header, _ = _read_header(file)
    return layout.unpack_capture(header, _exactly(file, header.capture.size))


def _read_timeline(file: FileIO) -> TimelineSource:
    header, offset = _read_header(file)
    file.seek(offset)
    return layout.unpack_timeline(header, _exactly(file, header.columns.size))


def _exactly(file: FileIO, size: int) -> bytearray:
    """`size` bytes; fewer where the file ends before, which its checksum will show."""
    if size > os.fstat(file.fileno()).st_size:
        raise layout.Damaged
    content = bytearray(size)
    view, filled = memoryview(content), 0
    while filled < size:
        count = file.readinto(view[filled:])
        if not count:
            break
        filled += count
    return content


def user_store(environment: Mapping[str, str] = os.environ) -> Store | None:
    """The user's cache: ``TB_DATAPLUGIN_CACHE`` (a folder, or "off"), else the platform's usual place."""
    chosen = environment.get(ENVIRONMENT, "")
    if chosen.lower() == OFF:
        return None
    try:
        return Store(Path(chosen).expanduser() if chosen else _usual_folder(environment) / "tb-dataplugin")
    except RuntimeError:  # there is no home
        return None


def _usual_folder(environment: Mapping[str, str]) -> Path:
    """Raises RuntimeError where the user has no home."""
    named = environment.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():
        return Path(named)
    if sys.platform == "win32" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"])
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):  # a cache that may only be read is still a cache
        os.utime(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
