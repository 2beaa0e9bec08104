"""A local folder with the remote traces that were read: each is fetched once for each state of it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from annotate.trace_format import EPOCHS_SUFFIX
from tb_dataplugin.cache import user_store
from tb_dataplugin.cache.trust import distrust_folder
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.reader.epochs import EPOCHS_BYTES, leave_epochs
from tb_dataplugin.remote.storage import RemoteTrace, Storage

LIMIT_BYTES: Final = 4 << 30
FOLDER: Final = "remote"
_HARMLESS: Final = re.compile(r"[\w+@=-][\w.+@=-]{0,180}")
_OURS: Final = re.compile(r"[0-9a-f]{40}")


class Mirror:
    """In `folder`, at most `limit_bytes`; what was fetched longest ago goes first."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder, self._limit_bytes = folder, limit_bytes

    def place_of(self, trace: RemoteTrace) -> Path:
        """Where this state of the trace lies once it is fetched."""
        name = trace.path.rstrip("/").rpartition("/")[2]
        harmless = name if _HARMLESS.fullmatch(name) else "trace.pt.trace.json"
        return self.folder / _digest(f"{trace.url.address}\0{trace.state}") / harmless

    def place_of_growing(self, file: RemoteTrace) -> Path:
        """Where its newest state lies once it is fetched: beside the files of the same folder there."""
        folder, _, name = file.url.address.rpartition("/")
        return self.folder / _digest(folder) / (name if _HARMLESS.fullmatch(name) else _digest(name))

    def fetch(self, storage: Storage, trace: RemoteTrace) -> Path:
        """Where the trace lies now. Raises UnreadableTrace, and BadRequest where it cannot be written."""
        place = self.place_of(trace)
        if not (trace.state and place.is_file()):
            self._fetch_to(place, storage, trace)
            leave_epochs(place, storage.beside(trace, EPOCHS_SUFFIX, EPOCHS_BYTES))
        return place

    def renew(self, storage: Storage, file: RemoteTrace) -> Path:
        """As `fetch`, in place of an older state of it."""
        return self._fetch_to(self.place_of_growing(file), storage, file)

    def _fetch_to(self, place: Path, storage: Storage, trace: RemoteTrace) -> Path:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fetch(storage, trace, place)
        except OSError as error:
            remedy = "set TB_DATAPLUGIN_CACHE to a folder that can be written"
            raise BadRequest(f"cannot write {place}: {error.strerror or error}; {remedy}") from None
        self._trim(place.parent)
        return place

    def _fetch(self, storage: Storage, trace: RemoteTrace, place: Path) -> None:
        descriptor, part = tempfile.mkstemp(suffix=".part", dir=place.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(storage.blocks(trace))
            if trace.modified_ns > 0:
                os.utime(part, ns=(trace.modified_ns, trace.modified_ns))
            Path(part).replace(place)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                place.parent.rmdir()
            raise

    def _trim(self, just_fetched: Path) -> None:
        """Only folders of exactly our form."""
        with contextlib.suppress(OSError):
            folders = [path for path in self.folder.iterdir() if _OURS.fullmatch(path.name) and path != just_fetched]
            room = self._limit_bytes - _size(just_fetched)
            for folder in sorted(folders, key=lambda path: -path.stat().st_mtime_ns):
                room -= _size(folder)
                if room < 0:
                    for file in folder.iterdir():
                        file.unlink()
                    folder.rmdir()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def user_mirror() -> Mirror:
    """Beside the user's cache; where there is none, in a folder that goes at the end."""
    return cache_mirror() or Mirror(_passing_folder())


def cache_mirror() -> Mirror | None:
    """Beside the user's cache; None where there is none, or others could write in it."""
    store = user_store()
    return None if store is None or distrust_folder(store.folder) is not None else Mirror(store.folder / FOLDER)


@functools.cache
def _passing_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="tb-dataplugin-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
