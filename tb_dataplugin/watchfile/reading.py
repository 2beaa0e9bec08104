"""From files to runs. A line that cannot be read, such as one that a kill cut off, costs itself and is counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.reader.opening import Roots, open_trace
from tb_dataplugin.watchfile.lines import (
    CaptureLine,
    EndLine,
    EventLine,
    IntervalLine,
    Line,
    LoaderLine,
    RunLine,
    decode,
)

Kind = TypeVar("Kind")

SUFFIX: Final = ".watch.jsonl"
VERSION: Final = 1
LARGEST: Final = 64 << 20
"""Bytes of a file; annotate keeps its own to a fraction of that."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process of a run: one file."""

    path: Path
    head: RunLine
    loaders: tuple[LoaderLine, ...]
    intervals: tuple[IntervalLine, ...]
    events: tuple[EventLine, ...]
    captures: tuple[CaptureLine, ...]
    has_ended: bool
    """False: the process was killed, or still runs."""
    bad_lines: int


@dataclass(frozen=True, slots=True)
class Run:
    """All processes of one rank that wrote into one folder, one after the other."""

    folder: Path
    rank: int | None
    parts: tuple[Part, ...]

    @property
    def intervals(self) -> list[IntervalLine]:
        return [interval for part in self.parts for interval in part.intervals]


def read_part(path: Path, roots: Roots = ()) -> Part:
    """Raises UnreadableTrace: it is not such a file, or cannot be opened."""
    head, found, bad = read_lines(path, roots)
    lines: defaultdict[type, list[object]] = defaultdict(list)
    for line in found:
        lines[type(line)].append(line)
    return Part(
        path,
        head,
        _of(lines, LoaderLine),
        tuple(sorted(_of(lines, IntervalLine), key=lambda interval: interval.begin)),
        _of(lines, EventLine),
        _of(lines, CaptureLine),
        bool(lines[EndLine]),
        bad,
    )


def read_lines(path: Path, roots: Roots = ()) -> tuple[RunLine, list[Line], int]:
    """The first line, all lines in order, and how many cannot be read. Raises UnreadableTrace."""
    found: list[Line] = []
    bad = 0
    for text in read_texts(path, roots):
        try:
            found.append(decode(text))
        except (msgspec.MsgspecError, RecursionError):
            bad += 1
    head = next((line for line in found if isinstance(line, RunLine)), None)
    if head is None:
        raise UnreadableTrace(path, "it does not begin as annotate.watch's files do", "remove it, or name another file")
    if head.version > VERSION:
        raise UnreadableTrace(path, "a later version of annotate.watch wrote it", "update tb-dataplugin")
    return head, found, bad


def read_texts(path: Path, roots: Roots = ()) -> list[bytes]:
    """Its lines as they stand. Raises UnreadableTrace."""
    try:
        with open_trace(path, roots) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UnreadableTrace(path, error.strerror or str(error), "check the path and its permissions") from None
    if len(data) > LARGEST:
        raise UnreadableTrace(path, "it is larger than any that annotate.watch writes", "remove it")
    return data.splitlines()


def _of(lines: defaultdict[type, list[object]], kind: type[Kind]) -> tuple[Kind, ...]:
    return tuple(line for line in lines[kind] if isinstance(line, kind))


def runs_of(parts: Iterable[Part]) -> list[Run]:
    """Grouped by folder and rank; within a run ordered by time: restarts, and runs that were resumed."""
    groups: defaultdict[tuple[Path, int], list[Part]] = defaultdict(list)
    for part in parts:
        groups[part.path.parent, -1 if part.head.rank is None else part.head.rank].append(part)
    return [
        Run(folder, None if rank < 0 else rank, tuple(sorted(found, key=lambda part: part.head.t)))
        for (folder, rank), found in sorted(groups.items())
    ]


def read_runs(files: Iterable[TraceFile]) -> tuple[list[Run], list[UnreadableTrace]]:
    """What can be read of these files, and what cannot."""
    parts, errors = [], []
    for file in files:
        try:
            parts.append(read_part(file.path, file.roots))
        except UnreadableTrace as error:
            errors.append(error)
    return runs_of(parts), errors
