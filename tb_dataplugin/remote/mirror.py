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

from tb_dataplugin.cache import user_store
from tb_dataplugin.cache.trust import distrust_folder
from tb_dataplugin.errors import BadRequest
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
        text = f"{trace.url.address}\0{trace.state}".encode("utf-8", "surrogatepass")
        name = trace.path.rstrip("/").rpartition("/")[2]
        harmless = name if _HARMLESS.fullmatch(name) else "trace.pt.trace.json"
        return self.folder / hashlib.blake2b(text, digest_size=20).hexdigest() / harmless

    def fetch(self, storage: Storage, trace: RemoteTrace) -> Path:
        """Where the trace lies now. Raises UnreadableTrace, and BadRequest where it cannot be written."""
        place = self.place_of(trace)
        if trace.state and place.is_file():
            return place
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


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def user_mirror() -> Mirror:
    """Beside the user's cache; where there is none, or others could write in it, in a folder that goes at the end."""
    store = user_store()
    if store is not None and distrust_folder(store.folder) is None:
        return Mirror(store.folder / FOLDER)
    return Mirror(_passing_folder())


@functools.cache
def _passing_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="tb-dataplugin-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
