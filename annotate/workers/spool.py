"""The spool: where workers put their spans until the training process merges them into the trace.

One private folder for each session. In it ``control`` (one byte: the number of the window being recorded, 0 between
windows, `DORMANT` while no profiler is at work, `OVER` when none will follow); for each worker a file
``<pid>.state`` (what it began last, see `InWork`; whether it has finished that, its spans say; then when the worker
ended, 0 while it lives); for each worker and window a file ``<window>-<pid>.spans``, written with one ``write`` per
chunk: a worker that dies leaves at most one chunk cut off, which readers leave out. Between windows a worker writes
into ``ring0-<pid>.spans`` and ``ring1-<pid>.spans`` in turn, so that of its latest batches, which the next window
receives, the spans are known.

A chunk is a kind (1 byte), 3 bytes unused, the length of its payload (4 bytes), and the payload. Integers are in the
machine's own byte order: the reader is on the same machine.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from annotate.recording.file_names import SampleFiles
from annotate.recording.rows import THREAD_ROW, ThreadRow
from annotate.saying import guard
from annotate.workers.kept import Kept, by_worker

PREFIX: Final = "annotate-"
_FOLDER: Final = re.compile(r"annotate-(\d+)-(\d+)-[a-z0-9_]{8}")
_FILE: Final = re.compile(r"control|\d+\.state|(?:kept-)?(?:\d+|ring[01])-\d+\.spans")
CONTROL: Final = "control"
OVER: Final = 255
"""As the number of a window: no more will be recorded."""
DORMANT: Final = 254
"""As the number of a window: nothing is recorded, not even into a ring, for now. Only `OVER` is larger."""
_KEPT: Final = "kept-"
"""Begins the names of files of a window that has been closed, and may still be asked for."""
_RINGS: Final = ("ring0", "ring1")
_RING_BYTES: Final = 1 << 20
"""Of each of the two files: about 40,000 spans."""
SUFFIX: Final = ".spans"
STATE: Final = ".state"
_STATE: Final = struct.Struct("=4q")
_END: Final = struct.Struct("=q")

HEAD: Final = struct.Struct("=B3xI")
WORKER, NAMES, SPANS, FILES, THREADS = 1, 2, 3, 4, 5
"""Chunks: JSON of a `worker` record, of names; a `BatchHead` and rows; JSON of `SampleFiles`; `ThreadRow`s."""


class BatchHead(NamedTuple):
    """Before the rows of a chunk: their batch, and of a finished one its costs (`meter.COLUMNS`); -1: not known."""

    iteration: int
    batch: int
    started: int
    finished: int
    process_cpu: int
    run_delay: int
    voluntary: int
    involuntary: int
    read_chars: int
    read_bytes: int
    major_faults: int
    gc: int
    system_cpu: int
    minor_faults: int

    @property
    def costs(self) -> tuple[int, ...]:
        return self[4:]


_BATCH: Final = struct.Struct(f"={len(BatchHead._fields)}q")


class InWork(NamedTuple):
    """The batch that a worker began last, and when."""

    pid: int
    worker: int
    iteration: int
    batch: int
    started: int


class Spool:
    """The training process's side. Made for one session and removed with it."""

    def __init__(self, *, is_dormant: bool = False) -> None:
        """Make the folder, after clearing away those of processes that were killed.

        Args:
            is_dormant: workers record nothing before `arm`.

        Raises:
            OSError: the folder for temporary files cannot be written.
        """
        parent = Path(tempfile.gettempdir())
        sweep(parent)
        pid = os.getpid()
        self.folder: Final = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-{start_time(pid)}-", dir=parent))
        self._pid = pid
        self._window = 0
        try:
            path = self.folder / CONTROL
            path.write_bytes(bytes((DORMANT if is_dormant else 0, *[0] * 7)))
            with path.open("r+b") as file:
                self._control = mmap.mmap(file.fileno(), 8)
        except BaseException:
            _remove(self.folder)
            raise

    def open_window(self) -> None:
        """Tell every worker to record."""
        self._window = self._window % (DORMANT - 1) + 1
        self._control[0] = self._window

    def close_window(self, *, is_last: bool = False) -> None:
        """Tell every worker to leave the window when it begins its next sample; after the last window it stops."""
        self._control[0] = OVER if is_last else 0

    def arm(self) -> None:
        """A window may open soon: tell the workers to write into their rings."""
        self._control[0] = 0

    def rest(self) -> None:
        """No window will open soon: tell the workers to record nothing."""
        self._control[0] = DORMANT

    def files(self) -> list[list[Path]]:
        """What the workers have written in the last window and shortly before it, by worker."""
        names = (*_RINGS, str(self._window))
        return by_worker(path for name in names for path in sorted(self.folder.glob(f"{name}-*{SUFFIX}")))

    def keep(self) -> Kept:
        """Put the files of the last window aside, in the place of those that were put aside before."""
        for path in self.folder.glob(f"{_KEPT}*{SUFFIX}"):
            path.unlink(missing_ok=True)
        kept = [[aside for path in paths if (aside := _put_aside(path))] for paths in self.files()]
        return Kept([paths for paths in kept if paths], self.ends())

    def in_work(self) -> list[InWork]:
        """What each worker that lives has begun last."""
        found = []
        for path in self.folder.glob("*" + STATE):
            with contextlib.suppress(OSError, struct.error):
                one = InWork(int(path.stem), *_STATE.unpack(path.read_bytes()[: _STATE.size]))
                if one.started and _exists(one.pid):
                    found.append(one)
        return found

    def ends(self) -> dict[int, int]:
        """pid -> when that worker ended (perf_counter_ns). Those that live, or were killed, are not in it."""
        found = {}
        for path in self.folder.glob("*" + STATE):
            with contextlib.suppress(OSError, struct.error):
                (ended,) = _END.unpack_from(path.read_bytes(), _STATE.size)
                if ended:
                    found[int(path.stem)] = ended
        return found

    def clear(self) -> None:
        """Remove what the workers have written in windows."""
        for path in self.folder.glob(f"[0-9]*{SUFFIX}"):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder. A forked child that gets here leaves it to its parent."""
        if os.getpid() != self._pid:
            return
        with guard("annotate could not tell DataLoader workers that a capture is over"):
            self.close_window(is_last=True)
        for _ in range(5):  # a worker may be creating a file in it
            _remove(self.folder)
            if not self.folder.exists():
                break


def _put_aside(path: Path) -> Path | None:
    """Its new name; None where its worker has just taken the file away (a ring, as it ends or begins anew)."""
    with contextlib.suppress(FileNotFoundError):
        return path.rename(path.with_name(_KEPT + path.name))
    return None


def remove_orphan(folder: str) -> None:
    """Remove a spool whose training process is gone; a worker does so at its own end."""
    path = Path(folder)
    name = _FOLDER.fullmatch(path.name)
    if name is not None and _is_own(path) and not _is_alive(int(name[1]), name[2]):
        _remove(path)


def start_time(pid: int) -> str:
    """When a process started, so that a reused number is noticed; "0" where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            return "gone" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except (OSError, IndexError):
        return "0"


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are gone: this user's, and only what a spool of ours looks like."""
    for folder in parent.glob(PREFIX + "*-*-*"):
        remove_orphan(str(folder))


def _is_own(folder: Path) -> bool:
    """True for a folder, no link, that belongs to this user and is closed to others, as we make them."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def _remove(folder: Path) -> None:
    """Remove the files of a spool, and the folder unless somebody has put something else into it."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if _FILE.fullmatch(path.name) and not path.is_dir():
                path.unlink(missing_ok=True)
        folder.rmdir()


def _is_alive(pid: int, started: str) -> bool:
    return _exists(pid) and started == start_time(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _path(folder: str, name: int | str) -> str:
    return os.path.join(folder, f"{name}-{os.getpid()}{SUFFIX}")  # noqa: PTH118


class SpoolFile:
    """A worker's side: one file for one window."""

    def __init__(self, folder: str, name: int | str, limit: int, worker: dict[str, object]) -> None:
        """
        Args:
            name: the number of the window.

        Raises: OSError.
        """
        self._file = os.open(
            _path(folder, name),
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if name in _RINGS else 0),
            0o600,
        )
        self._limit = limit
        self._size = 0
        self._names = 0
        self.write(WORKER, json.dumps(worker).encode())

    def write_names(self, names: list[str], spoken: dict[str, str]) -> None:
        """Write down the names that are not yet, as the span names that they stand for."""
        if len(names) > self._names:
            self.write(NAMES, json.dumps([spoken.get(name, name) for name in names[self._names :]]).encode())
            self._names = len(names)

    def write_files(self, samples: list[SampleFiles]) -> None:
        """Raises: OSError."""
        if samples:
            self.write(FILES, json.dumps(samples).encode())

    def write_spans(self, head: tuple[int, ...], rows: bytes) -> None:
        """
        Args:
            head: a `BatchHead`, or its fields in their order.

        Raises: OSError; struct.error: a number beyond 64 bits.
        """
        self._write(HEAD.pack(SPANS, _BATCH.size + len(rows)) + _BATCH.pack(*head) + rows)

    def write_threads(self, rows: list[ThreadRow]) -> None:
        if rows:  # raises as `write` does
            self.write(THREADS, b"".join(THREAD_ROW.pack(*row) for row in rows))

    def has_room(self, size: int) -> bool:
        return self._size + size <= self._limit

    def write(self, kind: int, payload: bytes) -> None:
        """Raises: OSError, also when only a part could be written."""
        self._write(HEAD.pack(kind, len(payload)) + payload)

    def _write(self, chunk: bytes) -> None:
        written = os.write(self._file, chunk)
        self._size += written
        if written < len(chunk):
            raise OSError("a chunk was cut off: no space left")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._file)


class Ring:
    """A worker's side between windows: its latest spans, in two files of a fixed size that are filled in turn."""

    def __init__(self, folder: str, worker: dict[str, object]) -> None:
        """Raises: OSError."""
        self._folder = folder
        self._worker = worker
        self._turn = 0
        self._file = self._afresh()

    def file_for(self, size: int) -> SpoolFile:
        """Where so many bytes may go. Raises: OSError."""
        if not self._file.has_room(size):
            self._file.close()
            self._turn = 1 - self._turn
            self._file = self._afresh()
        return self._file

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """Its spans are no longer wanted."""
        self.close()
        for name in _RINGS:
            with contextlib.suppress(OSError):
                os.unlink(_path(self._folder, name))  # noqa: PTH108

    def _afresh(self) -> SpoolFile:
        return SpoolFile(self._folder, _RINGS[self._turn], _RING_BYTES, self._worker)


class StateFile:
    """A worker's side of its state. Written, not mapped: a disk that fills up would kill a process that maps it."""

    def __init__(self, folder: str, worker: int) -> None:
        """Raises: OSError: the session is over."""
        self._path = os.path.join(folder, f"{os.getpid()}{STATE}")  # noqa: PTH118
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._worker = worker
        self.write(-1, -1, 0)

    def write(self, iteration: int, batch: int, started: int) -> None:
        """`started` is 0 before the first batch."""
        with contextlib.suppress(OSError):
            os.pwrite(self._file, _STATE.pack(self._worker, iteration, batch, started), 0)

    def end(self) -> None:
        """The worker ends."""
        with contextlib.suppress(OSError):
            os.pwrite(self._file, _END.pack(time.perf_counter_ns()), _STATE.size)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # noqa: PTH108


def chunks(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, begin and end of each whole chunk."""
    at = 0
    while at + HEAD.size <= len(data):
        kind, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + length > len(data):
            return
        yield kind, at, at + length
        at += length


def read_spans(data: bytes, begin: int, end: int) -> tuple[BatchHead, bytes]:
    """What `SpoolFile.write_spans` wrote."""
    return BatchHead(*_BATCH.unpack_from(data, begin)), data[begin + _BATCH.size : end]


def view_control(folder: str) -> Any:
    """A worker's view of the control byte, as item 0.

    Raises:
        OSError: the session is over.
    """
    with open(os.path.join(folder, CONTROL), "rb") as file:  # noqa: PTH118
        return mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
