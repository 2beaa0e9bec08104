"""Which files below a folder are traces. Looks at names and links only, never inside."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.opening import ALLOW, Roots, leads_out, lies_in, roots_of
from tb_dataplugin.shown import shown

TRACE_SUFFIXES = (".pt.trace.json.gz", ".pt.trace.json")
"""What `torch.profiler.tensorboard_trace_handler` and `annotate` write; other names are read only when given."""

READABLE_SUFFIXES = (*TRACE_SUFFIXES, ".json.gz", ".json", ".gz")

MAX_DEPTH = 8
"""Folders below the log directory that are looked into. Deeper ones are no runs, and may be a whole data set."""


STAMP: Final = re.compile(r"\.(?:(1\d{18})|(1\d{12}))$")
"""Ends names of traces: nanoseconds since the epoch, as `annotate` and torch write it; milliseconds, as older
versions of torch do.
"""


def stamp_ns(name: str) -> int | None:
    """When a trace was written, by its name (without the trace suffix); None where it does not say."""
    found = STAMP.search(name)
    return None if found is None else int(found[1] or f"{found[2]}000000")


@dataclass(frozen=True, slots=True)
class Taken:
    """When a capture was taken (0: nobody knows), and what says so: the trace's own clock, the time in its name, or the
    last change of its file, which a copy or a download makes its own.
    """

    unix_ns: int
    by: Literal["trace", "name", "file", ""]


def when_taken(window_unix_us: float, name: str, modified_ns: int) -> Taken:
    """The one place that decides it, for all that orders captures or dates them.

    Args:
        window_unix_us: when the window began, as reports have it; 0 where the trace does not say, or is not read yet.
        name: without the trace suffix.
        modified_ns: of the file; 0 where that is not known.
    """
    if window_unix_us > 0:
        return Taken(round(window_unix_us * 1e3), "trace")
    stamp = stamp_ns(name)
    if stamp is not None:
        return Taken(stamp, "name")
    return Taken(modified_ns, "file") if modified_ns > 0 else Taken(0, "")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One trace file. `run` is its folder relative to where the search began ("." for that folder itself).

    `roots`: where the file must lie, see `opening`. `refused`: why it may not be read, as one line. `url`: what it was
    fetched from, "" for a local file. `here`: False for one that has yet to be fetched to `path`.
    """

    path: Path
    run: str
    name: str  # file name without the trace suffix
    size: int  # bytes
    modified_ns: int
    roots: Roots = ()
    refused: str = ""
    url: str = ""
    here: bool = True

    @property
    def id(self) -> str:
        return self.name if self.run == "." else f"{self.run}/{self.name}"

    @property
    def taken_ns(self) -> int:
        """As far as that is known before the trace is read."""
        return when_taken(0, self.name, self.modified_ns).unix_ns


def strip_suffix(file_name: str) -> str:
    for suffix in READABLE_SUFFIXES:
        if file_name.endswith(suffix):
            return file_name[: -len(suffix)]
    return file_name


def describe(path: Path, run: str, roots: Roots = ()) -> TraceFile:
    """The `TraceFile` of `path`. Raises OSError when it cannot be looked at."""
    refused = ""
    if roots and path.is_symlink() and not lies_in(Path(os.path.realpath(path)), roots):
        refused = str(leads_out(path))
    facts = path.lstat() if refused else path.stat()
    return TraceFile(path, run, strip_suffix(path.name), facts.st_size, facts.st_mtime_ns, roots, refused)


def find_traces(
    root: Path,
    on_problem: Callable[[str], None] = lambda problem: None,
    within: Roots | None = None,
    suffixes: tuple[str, ...] = TRACE_SUFFIXES,
) -> Iterator[TraceFile]:
    """Traces below `root`, in no particular order; folders that cannot be read go to `on_problem`, one line each.

    What links lead to must lie in `within` (None: as `roots_of` says): a file that does not is `refused`, a folder a
    problem. Where it is empty, all links are followed. `suffixes`: of the files that are looked for.
    """
    roots = roots_of((root,)) if within is None else within

    def report(error: OSError) -> None:
        on_problem(f"cannot look into {shown(str(error.filename))}: {error.strerror}; its traces are not shown")

    seen: set[tuple[int, int]] = set()
    for folder, subfolders, files in os.walk(root, onerror=report, followlinks=not roots):
        relative = Path(folder).relative_to(root)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        if len(relative.parts) >= MAX_DEPTH:
            subfolders.clear()
        if not roots and not _is_new(folder, seen):
            subfolders.clear()
            continue
        for name in subfolders if roots else ():
            _check_folder(Path(folder, name), roots, on_problem)
        for name in files:
            if name.endswith(suffixes) and not name.startswith("."):
                try:
                    yield describe(Path(folder, name), str(relative), roots)
                except OSError as error:
                    report(error)


def _is_new(folder: str, seen: set[tuple[int, int]]) -> bool:
    """Links may lead in circles."""
    try:
        facts = Path(folder).stat()
    except OSError:
        return False
    key = facts.st_dev, facts.st_ino
    new = key not in seen
    seen.add(key)
    return new


def _check_folder(folder: Path, roots: Roots, on_problem: Callable[[str], None]) -> None:
    """Says so where a folder is not looked into; one that a link inside of the log directory leads to is met there."""
    if folder.is_symlink() and not lies_in(Path(os.path.realpath(folder)), roots):
        reason = UnreadableTrace(folder, "it is a link to a folder outside of the log directory", ALLOW)
        on_problem(str(reason))
