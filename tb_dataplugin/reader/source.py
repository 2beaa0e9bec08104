"""A trace file's bytes, unzipped."""

from __future__ import annotations

from pathlib import Path

from isal import igzip, isal_zlib

from tb_dataplugin.errors import UnreadableTrace

GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """The JSON text in `path`, whether gzipped or not (told by its first bytes, not by its name).

    Raises UnreadableTrace.
    """
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise UnreadableTrace(path, "it is a folder", "name a trace file, or a folder to search") from None
    except FileNotFoundError:
        raise UnreadableTrace(path, "there is no such file", "check the path") from None
    except OSError as error:
        raise UnreadableTrace(path, str(error.strerror), "check the file's permissions and disk") from None
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        text: bytes = igzip.decompress(raw)  # type: ignore[no-untyped-call]
    except (EOFError, OSError, isal_zlib.IsalError) as error:  # type: ignore[misc]  # isal's stubs say object
        reason = f"its gzip data is damaged or cut off ({error})"
        raise UnreadableTrace(
            path, reason, "if a job is still writing it, wait; else copy it again or capture again"
        ) from None
    return text
