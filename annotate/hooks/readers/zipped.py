"""Members of zip and tar archives, inside of a sample: raw bytes, as the archive's user sees them."""

from __future__ import annotations

from typing import Final

from annotate.hooks.readers.reader import Hook, Reader, hooks_on, in_sample, reads_some

_ZIP: Final = {"ZipFile.__init__": "zipfile.ZipFile", "ZipFile.read": "zipfile.read", "ZipFile.open": "zipfile.open"}
_TAR: Final = {"open": "tarfile.open", "TarFile.next": "tarfile.next", "TarFile.extractfile": "tarfile.extractfile"}

READERS: Final = (
    Reader(
        "zipfile",
        (
            *hooks_on("zipfile", "read", _ZIP, when=in_sample),
            Hook("zipfile", "ZipExtFile.read", "read", "zipfile.read", reads_some),
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
