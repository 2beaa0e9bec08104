"""Members of zip and tar archives, inside of a sample: raw bytes, as the archive's user sees them."""

from __future__ import annotations

from typing import Any, Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on, in_sample, reads_some
from annotate.recording import switch


def _of_a_member(*args: Any, **kwargs: Any) -> bool:
    """Only in a sample; inside of a `decode` (an npz file) unpacking is a part of that, and files show what is read."""
    return switch.thread.open.reading != "decode" and in_sample()


def _of_much_of_it(*args: Any, **kwargs: Any) -> bool:
    return switch.thread.open.reading != "decode" and reads_some(*args, **kwargs)


def _of_an_npz(archive: Any, *args: Any, **kwargs: Any) -> bool:
    """Its members are arrays of one file; those of other archives may be what a sample is known by."""
    return str(archive.filename).endswith(".npz")


_ZIP: Final = {"ZipFile.read": "zipfile.read", "ZipFile.open": "zipfile.open"}
_TAR: Final = {"open": "tarfile.open", "TarFile.next": "tarfile.next", "TarFile.extractfile": "tarfile.extractfile"}

READERS: Final = (
    Reader(
        "zipfile",
        (
            Hook("zipfile", "ZipFile.__init__", "read", "zipfile.ZipFile", _of_a_member),
            *(hook._replace(of_part=_of_an_npz) for hook in hooks_on("zipfile", "read", _ZIP, when=_of_a_member)),
            Hook("zipfile", "ZipExtFile.read", "read", "zipfile.read", _of_much_of_it),
        ),
    ),
    Reader(
        "tarfile",
        (
            *hooks_on("tarfile", "read", _TAR, when=in_sample),
            Hook("tarfile", "ExFileObject.read", "read", "tarfile.read", reads_some),
        ),
    ),
)
