"""Whole runs below the log directories: their files are read when they have grown, by the thread that looks there."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.report.build_whole_run import whole_runs_report
from tb_dataplugin.report.report_pb2 import WholeRuns
from tb_dataplugin.watchfile.reading import Part, read_part, runs_of

MOST_FILES: Final = 256
"""The newest ones. One is 4 MiB at most, as annotate writes them."""

Known = tuple[int, int, Part | str]
"""A file's size and time, and what is in it, or why it cannot be read."""


class WatchFiles:
    """Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[Path, Known] = {}
        self._answer = whole_runs_report(())
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Also of runs without a step: the page says why there is nothing of them to show."""
        answer = self.answer()
        return len(answer.runs) + len(answer.runs_without_steps)

    def look(self, files: Iterable[tuple[TraceFile, str]]) -> None:
        """`files`: all that there are now, each with the name of its folder. By one thread at a time."""
        newest = sorted(files, key=lambda item: -item[0].modified_ns)[:MOST_FILES]
        known = {file.path: self._read(file) for file, _ in newest}
        if known == self._known:
            return
        self._known = known
        names = {file.path.parent: name for file, name in newest}
        parts = [part for _, _, part in known.values() if isinstance(part, Part)]
        problems = [part for _, _, part in known.values() if isinstance(part, str)]
        answer = whole_runs_report(((run, names[run.folder]) for run in runs_of(parts)), problems)
        with self._lock:
            self._answer = answer

    def answer(self) -> WholeRuns:
        with self._lock:
            return self._answer

    def _read(self, file: TraceFile) -> Known:
        before = self._known.get(file.path)
        if before is not None and before[:2] == (file.size, file.modified_ns):
            return before
        return file.size, file.modified_ns, file.refused or _part(file)


def _part(file: TraceFile) -> Part | str:
    try:
        return read_part(file.path, file.roots)
    except UnreadableTrace as error:
        return str(error)
