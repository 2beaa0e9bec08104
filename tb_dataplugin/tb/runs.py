"""The captures below the log directories: found and analysed in the background, answered from memory and the cache.

One daemon thread looks at the log directories; each remote one has a thread of its own (`remote_dirs`). The others each
wait for a process that analyses new captures, newest first; a capture that the page asks for goes first. Requests read
under the lock what these have left, and never touch a log directory. A capture that was analysed lies in the cache;
what was used last is kept in memory as well.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tb_dataplugin.cache import Store
from tb_dataplugin.errors import InternalError, UnknownCapture
from tb_dataplugin.options import StepRange
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, Taken, TraceFile, find_traces, when_taken
from tb_dataplugin.reader.opening import roots_of
from tb_dataplugin.report.report_pb2 import Capture, CaptureRow
from tb_dataplugin.shown import encodable, shown
from tb_dataplugin.tb.analyst import Answer
from tb_dataplugin.tb.logdirs import LogDir, is_bare
from tb_dataplugin.tb.logs import log_failure
from tb_dataplugin.tb.loops import Loops
from tb_dataplugin.tb.processes import Analyst, AnalystProcess
from tb_dataplugin.tb.rank_runs import RankRuns
from tb_dataplugin.tb.remote_dirs import remote_dirs
from tb_dataplugin.tb.shelf import Shelf
from tb_dataplugin.tb.watch_files import WatchFiles
from tb_dataplugin.timeline.lanes import TimelineSource
from tb_dataplugin.watchfile.reading import SUFFIX

SCAN_EVERY_S = 2.5
SETTLED_AFTER_S = 2.5
"""A file that was written more recently is checked again before it is read: it may still grow."""
REST_AFTER_S = 20.0
"""A process that is idle for this long is ended; starting it again takes 0.2 s."""
ANALYSTS = 2 if (os.cpu_count() or 1) >= 4 else 1
"""Concurrent analyses. Each takes a core and the memory of one trace."""
CAPTURE_BYTES, TIMELINE_BYTES = 64 << 20, 256 << 20
"""Reports and timelines kept in memory; others are read from the cache again."""
PARSED_PER_BYTE = 5
"""Memory of a parsed message, per byte of its encoding."""
MAX_LOSSES = 3
"""A capture whose cache entry disappeared this often is not analysed again: something keeps deleting it."""

MAX_SELECTIONS = 32
"""Selections of steps that are remembered, of all captures together; the oldest one goes."""

State = Literal["queued", "loading", "ready", "error"]


Subject = tuple[str, StepRange | None]
"""What is analysed: a capture by its id, whole or some of its steps."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one capture, or of some of its `steps`.

    `folder` and `key`: where its analysis is kept, `row`: its CaptureRow, encoded, `marks`: what its program is
    known by, likewise; once it is ready.

    `tried`: it failed for want of memory or the like, and has its second and last try after all others.
    """

    trace: TraceFile
    id: str
    run: str
    state: State = "queued"
    error: str | None = None
    mode: str | None = None
    settled: bool = True
    folder: str = ""
    key: str = ""
    losses: int = 0
    tried: bool = False
    steps: StepRange | None = None
    row: bytes = b""
    marks: bytes = b""

    @property
    def subject(self) -> Subject:
        return self.id, self.steps

    @property
    def taken(self) -> Taken:
        """By its trace once it is ready; before, as far as its file says."""
        window_unix_us = CaptureRow.FromString(self.row).window_unix_us
        return when_taken(window_unix_us, self.trace.name, self.trace.modified_ns)

    @property
    def rank(self) -> int | None:
        row = CaptureRow.FromString(self.row)
        return row.rank if row.HasField("rank") else None


@dataclass(frozen=True, slots=True)
class Listing:
    scanning: bool
    entries: tuple[Entry, ...]  # newest first
    problems: tuple[str, ...]


class CaptureLibrary:
    """Thread-safe. `analysts` makes what analyses; it and `now` (seconds since the epoch) are for tests."""

    def __init__(
        self,
        logdirs: tuple[LogDir, ...],
        analysts: Callable[[], Analyst] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.logdirs = logdirs
        self.spare = Path(tempfile.gettempdir()) / f"tb-dataplugin-{secrets.token_hex(8)}"
        self.remote, fetched_to = remote_dirs(logdirs, self.spare)
        self.roots = roots_of([*(logdir.path for logdir in logdirs if logdir.url is None), *fetched_to])
        self._analysts = (lambda: AnalystProcess(self.spare, roots=self.roots)) if analysts is None else analysts
        self._now = now
        self._changed = threading.Condition()
        self._started = False
        self._entries: dict[Subject, Entry] = {}
        self._problems: tuple[str, ...] = ()
        self._scanned = False
        self._bare = False
        self._wanted: Subject = ("", None)
        self._captures: Shelf[Capture] = Shelf(CAPTURE_BYTES)
        self._timelines: Shelf[TimelineSource] = Shelf(TIMELINE_BYTES)
        self.loops = Loops(self.roots)
        self.whole_runs = WatchFiles()
        self.ranks = RankRuns(self.roots)

    def start(self) -> None:
        """Start watching; harmless when already started."""
        with self._changed:
            if self._started:
                return
            self._started = True
        atexit.register(shutil.rmtree, self.spare, ignore_errors=True)
        for target, count in ((self._watch, 1), (self._work, ANALYSTS)):
            for _ in range(count):
                threading.Thread(target=target, name="data-pipeline-runs", daemon=True).start()
        for remote in self.remote:
            remote.start()

    # What requests ask: from memory, or from the cache.

    def has_captures(self) -> bool:
        return bool(self._entries) or len(self.whole_runs) > 0

    def is_bare(self) -> bool:
        """Whether the log directories hold nothing at all yet, ours or not."""
        return self._bare

    def is_unsure(self) -> bool:
        """Whether a remote log directory has not said yet what it holds, or does not."""
        return any(not remote.is_listed or remote.problem() for remote in self.remote)

    def listing(self) -> Listing:
        with self._changed:
            whole = [entry for entry in self._entries.values() if entry.steps is None]
            newest = sorted(whole, key=lambda entry: (-entry.taken.unix_ns, entry.id))
            return Listing(not self._scanned, tuple(newest), self._problems)

    def entry(self, capture_id: str, steps: StepRange | None = None) -> Entry:
        """Of the whole capture as long as that is not ready. Raises UnknownCapture."""
        with self._changed:
            whole = self._entries.get((capture_id, None))
            if whole is None:
                raise UnknownCapture(f"no capture {capture_id!r} below the log directory; pick another one")
            return whole if steps is None or whole.state != "ready" else self._selection(whole, steps)

    def _selection(self, whole: Entry, steps: StepRange) -> Entry:
        """Under the lock."""
        known = self._entries.get((whole.id, steps))
        if known is not None and known.trace == whole.trace:
            return known
        selections = [entry for entry in self._entries.values() if entry.steps is not None]
        for entry in selections[: max(0, len(selections) - MAX_SELECTIONS + 1)]:
            del self._entries[entry.subject]
        made = Entry(whole.trace, whole.id, whole.run, steps=steps)
        self._entries[made.subject] = made
        return made

    def capture(self, capture_id: str, steps: StepRange | None = None) -> Capture | Entry:
        """The analysed capture, or its entry while it is not ready: it then goes first. Raises UnknownCapture."""
        entry = self.entry(capture_id, steps)
        if entry.state != "ready":
            return self._want(entry)
        return self._find_capture(entry) or self._lost(entry)

    def timeline(self, capture_id: str, steps: StepRange | None = None) -> TimelineSource | Entry:
        """As `capture`."""
        entry = self.entry(capture_id, steps)
        if entry.state != "ready":
            return self._want(entry)
        timeline = self._timelines.get(entry.key)
        if timeline is None:
            timeline = Store(Path(entry.folder)).timeline(entry.key)
            if timeline is None:
                return self._lost(entry)
            self._timelines.put(entry.key, timeline, timeline.nbytes)
        return timeline

    def replays(self) -> list[Capture]:
        """Replays that are ready, oldest first."""
        entries = [
            entry for entry in reversed(self.listing().entries) if entry.state == "ready" and entry.mode == "replay"
        ]
        captures = (self._find_capture(entry) for entry in entries)
        return [capture for capture in captures if capture is not None]

    def _find_capture(self, entry: Entry) -> Capture | None:
        capture = self._captures.get(entry.id + entry.key)
        if capture is None:
            capture = Store(Path(entry.folder)).capture(entry.key)
            if capture is not None:
                capture.name, capture.file = (
                    entry.id,
                    encodable(entry.trace.url or str(entry.trace.path)),
                )  # a copy of the file has the same entry
                self._captures.put(entry.id + entry.key, capture, PARSED_PER_BYTE * capture.ByteSize())
        return capture

    def _want(self, entry: Entry) -> Entry:
        for remote in self.remote if not entry.trace.here else ():
            remote.want(entry.trace.path)
        with self._changed:
            self._wanted = entry.subject
            self._changed.notify_all()
        return entry

    def _lost(self, entry: Entry) -> Entry:
        """Its entry is gone from the cache: analyse it again."""
        again = replace(entry, state="queued", losses=entry.losses + 1)
        if again.losses > MAX_LOSSES:
            why = f"the report of {entry.trace.path} disappeared from {entry.folder}"
            again = replace(again, state="error", error=f"{why}; set TB_DATAPLUGIN_CACHE to a folder that keeps files")
        with self._changed:
            if self._entries.get(entry.subject) == entry:
                self._entries[entry.subject] = again
        return self._want(again)

    # What the thread that looks at the log directories does.

    def scan(self) -> None:
        """Scan the log directories once: queue new and changed files, drop deleted ones."""
        has_all = all(remote.is_listed for remote in self.remote)
        problems = [problem for remote in self.remote if (problem := remote.problem())]
        traces = self._find(TRACE_SUFFIXES, problems.append)
        self.whole_runs.look([(file, encodable(run)) for file, run in self._find((SUFFIX,), lambda problem: None)])
        met = {self._meet(trace, capture_id, run) for capture_id, trace, run in _with_ids(traces)}
        bare = not met and all(map(is_bare, self.logdirs))
        with self._changed:
            self._entries = {
                subject: entry if entry.steps is None else replace(entry, settled=True)
                for subject, entry in self._entries.items()
                if entry.id in met
            }
            self._problems, self._scanned, self._bare = tuple(problems), has_all, bare
            self._changed.notify_all()

    def _find(self, suffixes: tuple[str, ...], on_problem: Callable[[str], None]) -> list[tuple[TraceFile, str]]:
        """Files with the names of their folders."""
        named = [
            (logdir.name, trace)
            for logdir in self.logdirs
            if logdir.url is None
            for trace in find_traces(logdir.path, on_problem, self.roots, suffixes)
        ]
        named += [(remote.name, trace) for remote in self.remote for trace in remote.files(suffixes)]
        return [
            (trace, "/".join(part for part in (name, trace.run) if part and part != ".") or ".")
            for name, trace in named
        ]

    def _meet(self, trace: TraceFile, capture_id: str, run: str) -> str:
        """A file was seen: it is listed at once, and read once it no longer changes."""
        with self._changed:
            whole = (capture_id, None)
            known = self._entries.get(whole)
            if trace.refused:
                self._entries[whole] = Entry(trace, capture_id, run, state="error", error=trace.refused)
            elif known is None or known.trace != trace:
                age_s = self._now() - trace.modified_ns / 1e9
                stands = trace.here if trace.url else known is None and age_s > SETTLED_AFTER_S
                self._entries[whole] = Entry(trace, capture_id, run, settled=stands)
            elif not known.settled and trace.here:
                self._entries[whole] = replace(known, settled=True)
        return capture_id

    def _watch(self) -> None:
        while True:
            try:
                self.scan()
            except Exception as error:
                log_failure("looking for captures")
                with self._changed:
                    self._problems, self._scanned = (shown(f"looking for captures failed: {error}"),), True
            time.sleep(SCAN_EVERY_S)

    # What the threads that wait for analyses do.

    def analyse_next(self, analyst: Analyst) -> bool:
        """Analyse the most wanted capture; False when there is nothing to do."""
        with self._changed:
            entry = self._take_next()
        if entry is not None:
            self._analyse(entry, analyst)
        return entry is not None

    def _work(self) -> None:
        analyst = self._analysts()
        while True:
            self._analyse(self._wait_for_next(analyst), analyst)

    def _wait_for_next(self, analyst: Analyst) -> Entry:
        idle_since = time.monotonic()
        while True:
            with self._changed:
                entry = self._take_next()
                if entry is None:
                    self._changed.wait(REST_AFTER_S)
            if entry is not None:
                return entry
            if time.monotonic() - idle_since > REST_AFTER_S:
                analyst.rest()

    def _take_next(self) -> Entry | None:
        """Under the lock."""
        queued = [entry for entry in self._entries.values() if entry.state == "queued" and entry.settled]
        if not queued:
            return None
        wanted = self._wanted
        chosen = max(queued, key=lambda entry: (not entry.tried, entry.subject == wanted, entry.trace.modified_ns))
        self._entries[chosen.subject] = replace(chosen, state="loading")
        return chosen

    def _analyse(self, entry: Entry, analyst: Analyst) -> None:
        try:
            answer = analyst.analyse(entry.trace.path, entry.id, str(entry.steps or ""))
        except Exception as error:  # an internal error must not stop the other captures
            log_failure(f"analysing {entry.trace.path}")
            answer = Answer("error", str(InternalError(f"analyse {entry.trace.path}", error)))
        self._finish(entry, answer)

    def _finish(self, entry: Entry, answer: Answer) -> None:
        if answer.state == "ready":
            ready = replace(entry, state="ready", mode=answer.mode)
            done = replace(ready, folder=answer.folder, key=answer.key, row=answer.row, marks=answer.marks)
        elif answer.passing and not entry.tried:
            done = replace(entry, tried=True, settled=False)  # not before the next look at the log directory
        elif answer.state == "error":
            done = replace(entry, state="error", error=answer.error)
        else:
            done = replace(entry, settled=False)
        with self._changed:
            current = self._entries.get(entry.subject)
            if current is not None and current.trace == entry.trace:  # else it changed meanwhile, and is queued again
                self._entries[entry.subject] = done


def _with_ids(traces: Sequence[tuple[TraceFile, str]]) -> Iterator[tuple[str, TraceFile, str]]:
    """Each trace with an id that no other has, and its run, both as text that can be sent.

    Two files of one folder may differ in their suffix only, or in bytes that escapes make alike.
    """
    ordered = sorted(traces, key=lambda item: (item[1], item[0].path))
    twins = Counter((run, trace.name) for trace, run in ordered)
    used: set[str] = set()
    for trace, run in ordered:
        name = trace.name if twins[run, trace.name] == 1 else trace.path.name
        capture_id = encodable(name if run == "." else f"{run}/{name}")
        while capture_id in used:
            capture_id += "'"
        used.add(capture_id)
        yield capture_id, trace, encodable(run)
