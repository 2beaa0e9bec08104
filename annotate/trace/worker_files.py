"""The files of a worker, read: what it recorded in a window, and shortly before it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from annotate.recording.rows import THREAD_ROW, ThreadRow, read_readings, read_rows
from annotate.trace_format import LibraryThreads
from annotate.workers import spool


@dataclass
class WorkerFile:
    """What one worker has written in one window, and shortly before it."""

    loader: int
    worker: int
    pid: int
    started: int
    span_ns: int = 0
    """What one span cost there."""
    called: tuple[int, int] | None = None
    """When its ``worker_init_fn`` began and returned."""
    threads: LibraryThreads = field(default_factory=LibraryThreads)
    names: list[str] = field(default_factory=list)
    batches: list[spool.BatchHead] = field(default_factory=list)
    """Of each chunk of rows, the batch."""
    ends: list[int] = field(default_factory=list)
    """Of each chunk, where its rows end."""
    files: dict[int, list[str]] = field(default_factory=dict)
    """Of slow samples, by their start (perf_counter_ns)."""
    rows: Any = None
    readings: Any = None
    """`rows.read_readings` of all chunks."""
    kept: Any = None
    """Numbers of the rows that the trace gets."""
    beside: list[ThreadRow] = field(default_factory=list)
    """Spans of its other threads."""

    def followed_by(self, later: WorkerFile) -> WorkerFile:
        """With what the same worker wrote into a later file; the facts are the later one's."""
        names = max(self.names, later.names, key=len)
        files = self.files | later.files
        return replace(
            later,
            names=names,
            batches=self.batches + later.batches,
            ends=self.ends + later.ends,
            files=files,
            beside=self.beside + later.beside,
        )


def read_worker_files(paths: Iterable[Path]) -> WorkerFile | None:
    """Read what is whole of one worker's files, oldest first; None when not even the worker's own record is.

    Names are numbered alike in all files of a process, and each file has all of them up to its end.
    """
    import numpy as np

    whole: WorkerFile | None = None
    parts: list[Any] = [read_rows(b"")]
    readings: list[Any] = [read_readings(b"")]
    count = 0
    for path in paths:
        data = path.read_bytes()
        file: WorkerFile | None = None
        for kind, begin, end in spool.chunks(data):
            if kind == spool.WORKER:
                file = WorkerFile(**json.loads(data[begin:end]))
            elif file is None:
                break
            elif kind == spool.NAMES:
                file.names += json.loads(data[begin:end])
            elif kind == spool.FILES:
                file.files |= dict(json.loads(data[begin:end]))
            elif kind == spool.THREADS:
                file.beside += map(ThreadRow._make, THREAD_ROW.iter_unpack(data[begin:end]))
            else:
                head, packed = spool.read_spans(data, begin, end)
                readings.append(read_readings(packed))
                if not len(spans := read_rows(packed)):
                    continue
                file.batches.append(head)
                parts.append(spans)
                count += len(spans)
                file.ends.append(count)
        whole = file if whole is None else whole if file is None else whole.followed_by(file)
    if whole is not None:
        whole.rows, whole.readings = np.concatenate(parts), np.concatenate(readings)
    return whole
