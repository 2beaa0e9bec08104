"""The captures below the log directories: found and analysed in the background, answered from memory.

One daemon thread looks at the log directories, then analyses what is new, newest first; a capture that the page asks
for goes first. Only this thread looks for files; requests read under the lock what it has left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tb_dataplugin.errors import DataPipelineError, UnknownCapture
from tb_dataplugin.pipeline import AnalysedCapture, analyse_file
from tb_dataplugin.reader.discovery import TraceFile, find_traces
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tb.logdirs import LogDir

SCAN_EVERY_S = 3.0
KEEP_ANALYSED = 16
"""Captures whose report and timeline stay in memory; others are analysed again when they are asked for."""

State = Literal["queued", "loading", "ready", "error"]

logger = logging.getLogger("tensorboard")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the page's list shows of one capture."""

    trace: TraceFile
    id: str
    run: str
    state: State = "queued"
    error: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    scanning: bool
    entries: tuple[Entry, ...]  # newest first
    problems: tuple[str, ...]


class CaptureLibrary:
    """Thread-safe. `analyse` and `clock` are for tests."""

    def __init__(
        self,
        logdirs: tuple[LogDir, ...],
        analyse: Callable[[TraceFile, str], AnalysedCapture] = lambda trace, name: analyse_file(trace.path, name),
    ) -> None:
        self.logdirs = logdirs
        self._analyse = analyse
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._entries: dict[str, Entry] = {}
        self._problems: tuple[str, ...] = ()
        self._scanned = False
        self._wanted: str | None = None
        self._analysed: OrderedDict[str, AnalysedCapture] = OrderedDict()

    def start(self) -> None:
        """Begin to watch; harmless when already begun."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="data-pipeline-runs", daemon=True)
                self._thread.start()

    def has_captures(self) -> bool:
        return bool(self._entries)

    def listing(self) -> Listing:
        with self._lock:
            newest = sorted(self._entries.values(), key=lambda entry: (-entry.trace.modified_ns, entry.id))
            return Listing(not self._scanned, tuple(newest), self._problems)

    def entry(self, capture_id: str) -> Entry:
        """Raises UnknownCapture."""
        with self._lock:
            try:
                return self._entries[capture_id]
            except KeyError:
                raise UnknownCapture(f"no capture {capture_id!r} below the log directory; pick another one") from None

    def analysed(self, capture_id: str) -> AnalysedCapture | Entry:
        """The analysed capture, or its entry while it is not ready: it then goes first. Raises UnknownCapture."""
        entry = self.entry(capture_id)
        with self._lock:
            found = self._analysed.get(capture_id)
            if found is not None:
                self._analysed.move_to_end(capture_id)
                return found
            if entry.state != "error":
                self._wanted = capture_id
        self._wake.set()
        return replace(entry, state="queued") if entry.state == "ready" else entry

    def replays(self) -> list[Capture]:
        """Replays that are in memory, oldest first."""
        with self._lock:
            entries = sorted(self._entries.values(), key=lambda entry: entry.trace.modified_ns)
            found = [self._analysed[entry.id].capture for entry in entries if entry.id in self._analysed]
        return [capture for capture in found if capture.mode == "replay"]

    def scan(self) -> None:
        """Look at the log directories once: new files are queued, changed ones again, vanished ones dropped."""
        problems: list[str] = [logdir.problem for logdir in self.logdirs if logdir.problem]
        found: dict[str, Entry] = {}
        for logdir in self.logdirs:
            if logdir.problem:
                continue
            for trace in find_traces(logdir.path, problems.append):
                run = "/".join(part for part in (logdir.name, trace.run) if part and part != ".") or "."
                entry = Entry(trace, trace.name if run == "." else f"{run}/{trace.name}", run)
                found[entry.id] = entry
        with self._lock:
            for capture_id, entry in found.items():
                known = self._entries.get(capture_id)
                if known is not None and known.trace == entry.trace:
                    found[capture_id] = known
                else:
                    self._analysed.pop(capture_id, None)
            for gone in self._entries.keys() - found.keys():
                self._analysed.pop(gone, None)
            self._entries, self._problems, self._scanned = found, tuple(problems), True

    def analyse_next(self) -> bool:
        """Analyse the capture that is wanted most; False when there is nothing to do."""
        entry = self._take_next()
        if entry is None:
            return False
        try:
            result = self._analyse(entry.trace, entry.id)
        except DataPipelineError as error:
            self._finish(replace(entry, state="error", error=str(error)), None)
        except Exception as error:  # a bug of ours must not stop the other captures
            logger.exception("Data Pipeline: analysing %s failed", entry.trace.path)
            message = f"cannot analyse {entry.trace.path}: {type(error).__name__}: {error}; please report this"
            self._finish(replace(entry, state="error", error=message), None)
        else:
            self._finish(replace(entry, state="ready", mode=result.capture.mode), result)
        return True

    def _take_next(self) -> Entry | None:
        with self._lock:
            wanted, self._wanted = self._wanted, None
            queued = [entry for entry in self._entries.values() if entry.state == "queued"]
            chosen = self._entries.get(wanted) if wanted is not None and wanted not in self._analysed else None
            if chosen is None and queued:
                chosen = max(queued, key=lambda entry: entry.trace.modified_ns)
            if chosen is not None:
                chosen = self._entries[chosen.id] = replace(chosen, state="loading")
            return chosen

    def _finish(self, entry: Entry, result: AnalysedCapture | None) -> None:
        with self._lock:
            current = self._entries.get(entry.id)
            if current is None or current.trace != entry.trace:  # it changed meanwhile, and is queued again
                return
            self._entries[entry.id] = entry
            if result is not None:
                self._analysed[entry.id] = result
                while len(self._analysed) > KEEP_ANALYSED:
                    self._analysed.popitem(last=False)

    def _watch(self) -> None:
        due = 0.0
        while True:
            if time.monotonic() >= due:
                self._scan_safely()
                due = time.monotonic() + SCAN_EVERY_S
            if not self.analyse_next():
                self._wake.wait(max(0.0, due - time.monotonic()))
                self._wake.clear()

    def _scan_safely(self) -> None:
        try:
            self.scan()
        except Exception as error:
            logger.exception("Data Pipeline: looking for captures failed")
            with self._lock:
                self._problems, self._scanned = (f"looking for captures failed: {error}",), True
