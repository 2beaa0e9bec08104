"""Writes a trace file: Kineto's own JSON with our metadata and the markers' category put right, gzipped.

The text is streamed, never parsed as a whole. The final name appears only when the file is complete.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol

from annotate.host.facts import host_name
from annotate.recording import recording_time
from annotate.trace_format import (
    MARKER_CATEGORY,
    METADATA_KEY,
    STAGE_KINDS,
    TRACE_SUFFIX,
    LoaderMetadata,
    PipelineMetadata,
)

_CHUNK: Final = 1 << 20
_HELD: Final = 32 << 20
"""Bytes of text that are kept from the first look at a file to its writing; a larger one is read twice."""
_COMPRESSION: Final = 4
"""gzip level: within 8 % of the size of level 6 on Kineto's JSON, in half the time."""

_ISAL_COMPRESSION: Final = 2

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]", re.ASCII)
"""Of a host's name, in the name of a file."""

_EVENTS: Final = re.compile(rb'"traceEvents":\s*\[(?=\s*\{)')

_RECORD: Final = re.compile(rb'\s*\{\s*"%b":\s*\{' % METADATA_KEY.encode())

_KINDS: Final = "|".join(STAGE_KINDS).encode()
_CATEGORY_AND_NAME: Final = re.compile(
    rb'"cat":\s*"(?:cpu_op|user_annotation)",\s*"name":\s*"((?:(?:%b)::|annotate#|ProfilerStep#)(?:[^"\\]|\\.)*)"'
    % _KINDS
)
"""Inside a JSON string every quote has a backslash before it, so this matches at keys only. It knows how all names that
are ever handed out, or renamed, begin: events of torch's own, which are most, are passed without a Python object."""

_ARGS: Final = re.compile(
    rb'\s*,\s*"pid":\s*\d+\s*,\s*"tid":\s*(\d+)\s*,\s*"ts":\s*([\d.]+)\s*,\s*"dur":\s*([\d.]+)\s*,'
    rb'\s*"args":\s*\{(?=\s*")'
)
"""From behind an event's name to its first argument."""

_EVENT_KEY: Final = b'"ph"'
"""Every event begins with it: where the text is cut, so that no match is cut in two."""


@dataclass(frozen=True, slots=True)
class Written:
    """Our part of Kineto's text."""

    markers: int
    names: frozenset[str]
    """Span names that occur."""


class Rows(Protocol):
    """Events of other processes, that go into the same trace."""

    def look(self, text: bytes) -> None:
        """Takes a part of Kineto's text."""

    def read(self) -> None:
        """Called when all of the text has been seen."""

    def events(self, loaders: list[LoaderMetadata]) -> Iterable[bytes]:
        """Texts of events, each with a comma behind it."""

    def facts_of(self, name: str, tid: int, start_ns: int, duration_ns: int) -> tuple[str, str]:
        """Another span name of a marker than it was opened with, or ""; and JSON text of further arguments, each with a
        comma behind it."""


def check_writable(logdir: Path) -> None:
    """Create the folder, and make sure that a file can be written there.

    Raises:
        OSError: it cannot; said before the training begins, not after it.
    """
    probe = logdir / f".annotate-{os.getpid()}-{time.time_ns()}"
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno, f"annotate cannot write traces to {logdir}: {reason}. Give a folder that can be written"
        ) from None


def write_trace(
    save: Callable[[str], object],
    logdir: Path,
    names: Mapping[str, str],
    metadata_for: Callable[[Written], PipelineMetadata],
    rows: Rows | None = None,
) -> Path:
    """Write one trace file in `logdir` and return its path.

    Args:
        save: writes Kineto's own text to a path.
        names: marker name -> span name. Events of these names, and no others, become ``user_annotation``.
        metadata_for: gives the metadata, given what markers the text has.
        rows: the workers' events.
    """
    stem = _stem()
    final = logdir / (stem + TRACE_SUFFIX)
    plain = logdir / f".{stem}.kineto.json"
    packed = logdir / f".{stem}.gz.part"
    try:
        save(str(plain))
        with packed.open("wb") as sink, _gzip(sink) as out:
            for text in _merged(plain, names, metadata_for, rows):
                out.write(text)
        packed.replace(final)
    finally:
        plain.unlink(missing_ok=True)
        packed.unlink(missing_ok=True)
    return final


def pack_trace(save: Callable[[str], object], logdir: Path) -> Path:
    """Write one trace file in `logdir` and return its path: what `save` writes, packed, under our name.

    Raises:
        OSError: it cannot be written.
    """
    stem = _stem()
    final, plain, packed = logdir / (stem + TRACE_SUFFIX), logdir / f".{stem}.json", logdir / f".{stem}.gz.part"
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        save(str(plain))
        with recording_time.taken(), plain.open("rb") as source, packed.open("wb") as sink, _gzip(sink) as out:
            shutil.copyfileobj(source, out, _CHUNK)
        packed.replace(final)
    finally:
        plain.unlink(missing_ok=True)
        packed.unlink(missing_ok=True)
    return final


def add_to_record(path: Path, key: str, value: object) -> None:
    """Put one more member into the `dataPipeline` record of a file that `write_trace` wrote, in one step.

    Raises:
        OSError: it cannot be read or written; it is as it was.
        ValueError: it does not begin as our files do.
    """
    part = path.with_name(f".{path.name}.part")
    text = json.dumps({key: value}, allow_nan=False)[1:-1].encode()
    try:
        with gzip.open(path) as source, part.open("wb") as sink, _gzip(sink) as out:
            first = source.read(_CHUNK)
            begin = _RECORD.match(first)
            if begin is None:
                raise ValueError(f"{path} has no record of annotate at its beginning")
            out.write(first[: begin.end()] + text + b", " + first[begin.end() :])
            shutil.copyfileobj(source, out, _CHUNK)
        part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def merge_trace(
    path: Path, names: Mapping[str, str], metadata_for: Callable[[Written], PipelineMetadata], rows: Rows
) -> None:
    """Put our part into a file that torch has written, in one step: whatever fails leaves it as it was.

    A path that is no ordinary file (a pipe) stays as it is, and so does one that is not there: torch says so itself.

    Args:
        names, metadata_for, rows: as of `write_trace`.

    Raises:
        OSError: its folder cannot be written.
    """
    if not path.is_file():
        return
    target = path.resolve()
    status = target.stat()
    number, name = tempfile.mkstemp(prefix=".annotate-", dir=target.parent)
    part = Path(name)
    try:
        with open(number, "wb") as sink:
            sink.writelines(_merged(target, names, metadata_for, rows))
        part.chmod(stat.S_IMODE(status.st_mode))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _stem() -> str:
    return f"{_NOT_IN_NAMES.sub('_', host_name())}_{os.getpid()}.{time.time_ns()}"


def _merged(
    plain: Path,
    names: Mapping[str, str],
    metadata_for: Callable[[Written], PipelineMetadata],
    rows: Rows | None,
) -> Iterator[bytes]:
    """Kineto's text with our part."""
    known = {json.dumps(marker)[1:-1].encode(): json.dumps(span).encode() for marker, span in names.items()}
    is_held = plain.stat().st_size <= _HELD
    held: list[bytes] = []
    found: list[list[_Marker]] = []
    """By piece: they are looked for once, which takes longer than reading the text again."""
    counts: Counter[bytes] = Counter()
    for text in _pieces_of(plain):
        markers = [
            _Marker(match.start(), match.end(), match[1])
            for match in _CATEGORY_AND_NAME.finditer(text)
            if match[1] in known
        ]
        if rows is not None:
            rows.look(text)
        counts.update(marker.name for marker in markers)
        found.append(markers)
        if is_held:
            held.append(text)
    if rows is not None:
        rows.read()
    spans = frozenset(json.loads(known[marker]) for marker in counts)
    metadata = metadata_for(Written(counts.total(), spans))
    head = json.dumps({METADATA_KEY: metadata}, allow_nan=False)[1:-1].encode()
    events = () if rows is None else rows.events(metadata.get("loaders", []))
    pieces = zip(held if is_held else _pieces_of(plain), found, strict=True)
    texts = (_rewritten(text, markers, known, rows) for text, markers in pieces)
    yield from _with_head(_with_events(texts, events), head)


class _Marker(NamedTuple):
    """One of ours, in a piece of the text: where its category and name stand."""

    start: int
    end: int
    name: bytes


def _pieces_of(plain: Path) -> Iterator[bytes]:
    with plain.open("rb") as source:
        yield from _pieces(source)


def _pieces(source: IO[bytes]) -> Iterator[bytes]:
    """The text in pieces that end where an event begins."""
    kept = b""
    while block := source.read(_CHUNK):
        kept += block
        cut = kept.rfind(_EVENT_KEY)
        if cut > 0:
            yield kept[:cut]
            kept = kept[cut:]
    yield kept


def _with_head(pieces: Iterator[bytes], head: bytes) -> Iterator[bytes]:
    """Put `head` (the text of one member) right behind the first brace of a non-empty object."""
    first = next(pieces)
    brace = first.index(b"{") + 1
    yield first[:brace] + b"\n    " + head + b"," + first[brace:]
    yield from pieces


def _with_events(pieces: Iterator[bytes], events: Iterable[bytes]) -> Iterator[bytes]:
    """Put `events` before the first of the trace's own."""
    first = next(pieces)
    begin = _EVENTS.search(first)
    if begin is None:
        yield first
    else:
        yield first[: begin.end()]
        yield from events
        yield first[begin.end() :]
    yield from pieces


def _gzip(sink: IO[bytes]) -> Any:
    """A file that compresses into `sink`; isal, where it is installed, is several times faster than zlib."""
    try:
        from isal import igzip
    except ImportError:
        return gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=_COMPRESSION, mtime=0)
    opened: Any = igzip.IGzipFile  # untyped
    return opened(filename="", mode="wb", fileobj=sink, compresslevel=_ISAL_COMPRESSION, mtime=0)


def _rewritten(text: bytes, markers: list[_Marker], known: Mapping[bytes, bytes], rows: Rows | None) -> bytes:
    """Markers with their category and name put right, and with what `rows` knows of them."""
    category = MARKER_CATEGORY.encode()
    if not markers:
        return text
    parts: list[bytes] = []
    decoded: dict[bytes, str] = {}
    copied = 0
    for marker in markers:
        before, copied = text[copied : marker.start], marker.end
        span, more = known[marker.name], ""
        tail = None if rows is None else _ARGS.match(text, copied)
        if rows is not None and tail is not None:
            name = decoded.get(marker.name)
            if name is None:
                name = decoded[marker.name] = json.loads(b'"%b"' % marker.name)
            renamed, more = rows.facts_of(name, int(tail[1]), _ns(tail[2]), _ns(tail[3]))
            span = json.dumps(renamed).encode() if renamed else span
            copied = tail.end()
        parts += before, b'"cat": "%b", "name": %b' % (category, span), tail[0] if tail else b"", more.encode()
    return b"".join((*parts, text[copied:]))


def _ns(number: bytes) -> int:
    """Of microseconds with at most three decimals, as Kineto writes them; further ones are cut off."""
    whole, _, fraction = number.partition(b".")
    return int(whole) * 1000 + int((fraction + b"000")[:3])
