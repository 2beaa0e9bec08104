"""A log directory behind a URL: a thread of its own lists it and fetches from it, so that nothing else ever waits for
a storage. Everybody else asks what is known, from memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, TraceFile
from tb_dataplugin.remote import Mirror, RemoteTrace, Storage, Url
from tb_dataplugin.remote.mirror import FOLDER, cache_mirror
from tb_dataplugin.shown import shown
from tb_dataplugin.tb.logdirs import LogDir
from tb_dataplugin.tb.logs import log_failure
from tb_dataplugin.units import duration, plural
from tb_dataplugin.watchfile.reading import LARGEST, SUFFIX

LOOK_EVERY_S: Final = 30.0
REST_PER_LOOK: Final = 20.0
"""Times as long as listing took, at least, until it is listed again: a list of a large bucket costs time and money."""
SLOW_AFTER_S: Final = 10.0
RETRY_AFTER_S: Final = 60.0
AHEAD_BYTES: Final = 1 << 30
"""Fetched without being asked for, the newest first. Older captures are fetched when they are opened."""
UNKNOWN_BYTES: Final = 64 << 20
"""What a file counts for whose size the storage does not say."""
MOST_WATCHED: Final = 32
"""Files of whole runs, the newest: they are fetched again whenever they have grown."""


@dataclass(frozen=True, slots=True)
class Known:
    """A file `there`, and `here`, as far as it is.

    `fetched`: the state of it that lies here; None: none does. `failed_s`: when it could not be fetched, 0 otherwise.
    """

    there: RemoteTrace
    here: TraceFile
    fetched: RemoteTrace | None = None
    failed_s: float = 0.0

    @property
    def is_watch(self) -> bool:
        """Of a whole run: it grows, and what was fetched last is shown until it is fetched again."""
        return self.there.url.name.endswith(SUFFIX)

    @property
    def is_current(self) -> bool:
        return self.fetched == self.there


class RemoteDir:
    """Thread-safe; `look` and `fetch_next` are for its own thread. `now` is in seconds, for tests."""

    def __init__(
        self,
        name: str,
        url: Url,
        mirror: Mirror,
        open_storage: Callable[[Url], Storage] = Storage,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.url = name, url
        self._mirror, self._open, self._now = mirror, open_storage, now
        self._known: dict[Path, Known] = {}
        self._problem = ""
        self._is_listed = False
        self._looking_since: float | None = None
        self._wanted: Path | None = None
        self._ahead_bytes = 0
        self._changed = threading.Condition()

    def start(self) -> None:
        threading.Thread(target=self._work, name="data-pipeline-remote", daemon=True).start()

    # What everybody may ask: from memory.

    @property
    def is_listed(self) -> bool:
        """Once, or it was tried."""
        return self._is_listed

    def files(self, suffixes: tuple[str, ...]) -> list[TraceFile]:
        """Those that are there; the ones with `here` can be read."""
        with self._changed:
            wanted = [known for known in self._known.values() if known.there.url.name.endswith(suffixes)]
        return [known.here for known in wanted if known.fetched or known.here.refused or not known.is_watch]

    def problem(self) -> str:
        """Why it cannot be listed, or that it takes long, as one line; "" where all is well."""
        with self._changed:
            since, count = self._looking_since, len(self._known)
            if self._problem or self._is_listed or since is None or self._now() - since < SLOW_AFTER_S:
                return self._problem
            took = duration((self._now() - since) * 1e6)
        return shown(f"{self.url} is slow: it is being listed for {took}; {plural(count, 'file')} found so far")

    def want(self, path: Path) -> None:
        """Fetch this one first."""
        with self._changed:
            if path in self._known:
                self._wanted = path
                self._changed.notify_all()

    # What its own thread does.

    def _work(self) -> None:
        while True:
            began = self._now()
            self.look()
            again = self._now() + max(LOOK_EVERY_S, REST_PER_LOOK * (self._now() - began))
            while (rest := again - self._now()) > 0:
                if not self.fetch_next():
                    with self._changed:
                        if self._wanted is None:
                            self._changed.wait(rest)

    def look(self) -> None:
        """List it once. What was known stays where that fails."""
        with self._changed:
            self._looking_since = self._now()
        try:
            problem = self._look()
        except DataPipelineError as error:
            problem = str(error)
        except Exception as error:
            log_failure(f"listing {self.url}")
            problem = shown(f"listing {self.url} failed: {type(error).__name__}: {error}")
        with self._changed:
            self._problem, self._is_listed, self._looking_since = problem, True, None

    def _look(self) -> str:
        """What is found shows at once; what is gone goes at the end."""
        met: set[Path] = set()
        for place, there in self._listed():
            met.add(place)
            with self._changed:
                before = self._known.get(place)
                if before is None or before.there != there:
                    self._known[place] = _newly_known(there, place, before)
        with self._changed:
            self._known = {place: known for place, known in self._known.items() if place in met}
        return ""

    def _listed(self) -> Iterator[tuple[Path, RemoteTrace]]:
        for there in self._open(self.url).files((*TRACE_SUFFIXES, SUFFIX)):
            is_watch = there.url.name.endswith(SUFFIX)
            yield self._mirror.place_of_growing(there) if is_watch else self._mirror.place_of(there), there

    def fetch_next(self) -> bool:
        """Fetch one file: the one that is wanted, else grown files of whole runs, else the newest capture.

        False where nothing is to be done.
        """
        with self._changed:
            chosen, self._wanted = self._choose(), None
        if chosen is None:
            return False
        place, there = chosen.here.path, chosen.there
        try:
            storage = self._open(self.url)
            if chosen.is_watch:
                self._mirror.renew(storage, there)
            else:
                self._mirror.fetch(storage, there)
            done = Known(there, _as_it_lies(replace(chosen.here, refused="")), there)
        except DataPipelineError as error:
            done = replace(chosen, here=replace(chosen.here, refused=str(error)), failed_s=self._now())
        except Exception as error:
            log_failure(f"fetching {there.url}")
            line = shown(f"cannot fetch {there.url}: {type(error).__name__}: {error}; see TensorBoard's own output")
            done = replace(chosen, here=replace(chosen.here, refused=line), failed_s=self._now())
        with self._changed:
            current = self._known.get(place)
            if current is not None and current.there == there:
                self._known[place] = done
        return True

    def _choose(self) -> Known | None:
        """Under the lock."""
        wanted = self._known.get(self._wanted) if self._wanted else None
        if wanted is not None and not wanted.is_current and self._may_try(wanted):
            return wanted
        newest = sorted(self._known.values(), key=lambda known: (-known.here.taken_ns, known.there.path))
        for known in [known for known in newest if known.is_watch][:MOST_WATCHED]:
            if not known.is_current and self._may_try(known) and (known.there.size or 0) <= LARGEST:
                return known
        for known in newest:
            size = UNKNOWN_BYTES if known.there.size is None else known.there.size
            if known.is_watch or known.is_current or known.failed_s:
                continue
            if self._ahead_bytes + size <= AHEAD_BYTES:
                self._ahead_bytes += size
                return known
        return None

    def _may_try(self, known: Known) -> bool:
        return not known.failed_s or self._now() - known.failed_s >= RETRY_AFTER_S


def _newly_known(there: RemoteTrace, place: Path, before: Known | None) -> Known:
    """A capture may lie here from an earlier time; a file of a whole run may have grown since."""
    if before is not None and before.is_watch:
        return replace(before, there=there)
    size = there.size or 0
    absent = TraceFile(place, there.run, there.name, size, there.modified_ns, url=str(there.url), here=False)
    lies_here = there.state and not there.url.name.endswith(SUFFIX) and place.is_file()
    return Known(there, _as_it_lies(absent), there) if lies_here else Known(there, absent)


def _as_it_lies(trace: TraceFile) -> TraceFile:
    try:
        facts = trace.path.stat()
    except OSError:  # somebody has tidied up since
        return trace
    return replace(trace, size=facts.st_size, modified_ns=facts.st_mtime_ns, here=True)


def remote_dirs(logdirs: Sequence[LogDir], spare: Path) -> tuple[tuple[RemoteDir, ...], tuple[Path, ...]]:
    """Those of the log directories that are, and the folders that they are fetched to: `spare` where the user has no
    cache. No file is touched that is not asked for its rights.
    """
    urls = [(logdir.name, logdir.url) for logdir in logdirs if logdir.url is not None]
    if not urls:
        return (), ()
    mirror = cache_mirror() or Mirror(spare / FOLDER)
    return tuple(RemoteDir(name, url, mirror) for name, url in urls), (mirror.folder,)
