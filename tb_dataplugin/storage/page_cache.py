"""Whether files lie in the page cache, and putting them out of it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

Cold = Literal["yes", "no", "unknown"]

LOOKED_AT: Final = 64
"""Places in files that are asked whether they left the cache."""

MOST_CACHED: Final = 0.1
"""Share of these that may still be there, for the rest to count as cold."""


def drop(paths: Iterable[Path]) -> bool:
    """Ask the kernel to forget the pages of these files. False where it cannot be asked."""
    advise = getattr(os, "posix_fadvise", None)
    if advise is None:
        return False
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.fdatasync(handle)  # what was never written cannot be forgotten
            advise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            if error.errno != errno.EINVAL:
                return False
        finally:
            os.close(handle)
    return True


def can_be_emptied(paths: Iterable[Path], again: int = 3, pause_s: float = 0.05) -> Cold:
    """Puts the files out of the cache, and looks whether they are gone; up to `again` times, since a page that is being
    read or written stays.
    """
    chosen = list(paths)[:LOOKED_AT]
    answer: Cold = "no"
    for _ in range(again):
        if not drop(chosen):
            return "no"
        known = [cached for path in chosen for cached in _cached_pages(path, LOOKED_AT // len(chosen))]
        if not known:
            return "unknown"
        answer = "yes" if sum(known) <= MOST_CACHED * len(known) else "no"
        if answer == "yes":
            break
        time.sleep(pause_s)
    return answer


def _cached_pages(path: Path, pages: int) -> list[bool]:
    """Of as many places of the file; none where that cannot be told.

    By a read that the kernel refuses where it would have to wait. It may begin to read then, so that this is not to be
    asked before a cold read.
    """
    flag = getattr(os, "RWF_NOWAIT", None)
    if flag is None:
        return []
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        size, found = os.fstat(handle).st_size, []
        for number in range(max(1, pages)):
            try:
                found.append(os.preadv(handle, [bytearray(1)], size * number // max(1, pages), flag) > 0)
            except BlockingIOError:
                found.append(False)
        return found
    except OSError:  # not every file system knows the flag
        return []
    finally:
        os.close(handle)
