"""From what is listed to files that are here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from tb_dataplugin.errors import NothingToReport, UnreadableTrace
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.remote.address import Url
from tb_dataplugin.remote.mirror import Mirror, user_mirror
from tb_dataplugin.remote.storage import RemoteTrace, Storage

Source: TypeAlias = TraceFile | RemoteTrace
"""A trace: a file, or one in a storage that has yet to be fetched."""


def named(source: Source) -> str:
    """What a sentence calls it."""
    return source.url or str(source.path) if isinstance(source, TraceFile) else str(source.url)


def listed(url: Url) -> list[RemoteTrace]:
    """By path. Raises NothingToReport for a folder without traces, BadRequest, UnreadableTrace."""
    traces = sorted(Storage(url).traces(), key=lambda trace: trace.path)
    if not traces:
        raise NothingToReport(f"no traces (*.pt.trace.json, *.pt.trace.json.gz) below {url}: name a trace file")
    return traces


def fetched(source: Source, mirror: Mirror | None = None) -> TraceFile:
    """Its file, in `mirror` (None: the user's). Raises UnreadableTrace, BadRequest."""
    if isinstance(source, TraceFile):
        return source
    return _described(source, (mirror or user_mirror()).fetch(Storage(source.root), source))


def _described(source: RemoteTrace, path: Path) -> TraceFile:
    size = 0
    with contextlib.suppress(OSError):
        size = path.stat().st_size
    return TraceFile(path, source.run, source.name, size, source.modified_ns, url=str(source.url))


def growing(url: Url, suffix: str, on_error: Callable[[UnreadableTrace], None]) -> Iterator[TraceFile]:
    """Files below a folder with names that end so, as they are now. Raises UnreadableTrace where there is no folder."""
    storage, mirror = Storage(url), user_mirror()
    for file in storage.files((suffix,)):
        try:
            yield _described(file, mirror.renew(storage, file))
        except UnreadableTrace as error:
            on_error(error)


def all_fetched(url: Url) -> Iterator[TraceFile]:
    """One at a time. One that cannot be fetched is refused; raises UnreadableTrace where it is the only one."""
    traces, mirror = listed(url), user_mirror()
    for trace in traces:
        try:
            yield fetched(trace, mirror)
        except UnreadableTrace as error:
            if len(traces) == 1:
                raise
            yield TraceFile(Path(trace.name), trace.run, trace.name, 0, 0, refused=str(error), url=str(trace.url))
