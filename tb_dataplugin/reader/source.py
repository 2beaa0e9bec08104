"""A trace file's bytes, unzipped block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.opening import Roots, open_trace

GZIP_MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 1 << 20
READ_BYTES = 1 << 16  # of a gzip file: Kineto's traces unzip to about 17 times as much, so one read fills a block

BOMB_BYTES = 1 << 28
BOMB_RATIO = 150
"""A gzip file that unzips to more than both is not a trace: real ones unzip to 15 to 40 times their size. Its events
cost memory, however small the file."""

_GZIP_WINDOW = 31  # zlib's code for "with a gzip header"


def blocks(path: Path, diagnostics: DiagnosticsCollector, roots: Roots = ()) -> Iterator[bytes]:
    """The JSON text in `path` in blocks of about 1 MB, gzipped or not (its first bytes say which).

    Where gzip data are damaged or end too early, what came before is given and `diagnostics` says so. Raises
    UnreadableTrace when the file cannot be opened or read, lies outside of `roots`, or is a gzip bomb.
    """
    try:
        with open_trace(path, roots) as file:
            head = file.read(len(GZIP_MAGIC))
            yield from _unzipped(file, head, path, diagnostics) if head == GZIP_MAGIC else _plain(file, head)
    except IsADirectoryError:
        raise UnreadableTrace(path, "it is a folder", "name a trace file, or a folder to search") from None
    except FileNotFoundError:
        raise UnreadableTrace(path, "there is no such file", "check the path") from None
    except OSError as error:
        reason = str(error.strerror or error)
        raise UnreadableTrace(path, reason, "check the file's permissions and disk") from None


def _plain(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    block = head + file.read(BLOCK_BYTES)
    while block:
        yield block
        block = file.read(BLOCK_BYTES)


def _unzipped(file: BinaryIO, head: bytes, path: Path, diagnostics: DiagnosticsCollector) -> Iterator[bytes]:
    member, given = _Member(0), 0
    data, at = head + file.read(READ_BYTES), 0  # and where it stands in the file
    while data:
        if member.begin == at and given and not GZIP_MAGIC.startswith(data[:2]):
            diagnostics.add("trailing_bytes", "Bytes after the end of the gzip data were ignored")
            return
        try:
            block = member.unzip.decompress(data, BLOCK_BYTES)
        except isal_zlib.IsalError as error:  # type: ignore[misc]  # isal's stubs say object
            block = member.before_damage(file, at, at + len(data))
            if block:
                yield block
            elif not given:
                reason = f"its gzip data are damaged ({error})"
                raise UnreadableTrace(path, reason, "copy it again or capture again") from None
            diagnostics.add(
                "damaged_gzip", f"The gzip data are damaged ({error}); everything before the damage was read"
            )
            return
        member.given += len(block)
        given += len(block)
        rest = member.unzip.unused_data if member.unzip.eof else member.unzip.unconsumed_tail
        at += len(data) - len(rest)
        if given > BOMB_BYTES and given > BOMB_RATIO * at:
            reason = f"it unzips to more than {BOMB_RATIO} times its size, which no trace does"
            raise UnreadableTrace(path, reason, "unzip it yourself if it really is one, and choose the unzipped file")
        if block:
            yield block
        data = rest or file.read(READ_BYTES)
        if member.unzip.eof:
            while data and not data.strip(b"\0"):  # padding
                at, data = at + len(data), file.read(READ_BYTES)
            at, data = at + len(data) - len(data.lstrip(b"\0")), data.lstrip(b"\0")
            member = _Member(at)
    if not given:
        raise UnreadableTrace(
            path, "its gzip data are truncated", "if a job is still writing it, wait; else copy it again"
        )
    if member.begin < at:
        message = "The gzip data are truncated; what is there was read. If a job is still writing the file, wait"
        diagnostics.add("truncated_gzip", message)


class _Member:
    """One of the gzip streams in a file; `begin` is where it begins, `given` how many bytes it gave so far."""

    def __init__(self, begin: int) -> None:
        self.begin, self.given = begin, 0
        self.unzip = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)

    def before_damage(self, file: BinaryIO, begin: int, end: int) -> bytes:
        """What it gives beyond `given`, though its bytes from `begin` to `end` are damaged somewhere.

        A failed call returns nothing, so they are unzipped again, one by one.
        """
        again = isal_zlib.decompressobj(wbits=_GZIP_WINDOW)
        skip, pieces = self.given, []
        file.seek(self.begin)
        try:
            while (at := file.tell()) < end:
                block = again.decompress(file.read(min(READ_BYTES, begin - at) if at < begin else 1))
                pieces.append(block[skip:])
                skip = max(0, skip - len(block))
        except isal_zlib.IsalError:  # type: ignore[misc]
            pass
        return b"".join(pieces)
