"""Which files the slowest samples were read from.

Reading functions say which path they were given (`saw`), the recorder says when the sample has ended (`ended`). A name
costs an append to a list; only the names of a process's slowest samples of a window become text and are kept.
"""

from __future__ import annotations

import heapq
import os
from typing import Any, Final, NamedTuple

from annotate.recording import switch
from annotate.saying import report_error

FILES: Final = 8
"""Files of one sample that are kept: the first ones that it opened."""
SAMPLES: Final = 32
"""Slowest samples of a process and window; the report shows 20 of all processes."""
LONGEST: Final = 1024
"""Characters of a path; the beginning of a longer one is left out."""
_MOST: Final = 4096
"""Entries of a window at most, if each sample should be slower than the one before."""

_LOST: Final = "annotate does not know the files of a sample"


class SampleFiles(NamedTuple):
    """A slow sample: when its span began (``perf_counter_ns``), and the files that it opened, each once."""

    start: int
    files: list[str]


kept: Final[list[SampleFiles]] = []
_slowest: Final[list[int]] = []
"""A heap of the longest durations so far."""


def begin() -> None:
    """A window opens: slow is what is slow in it."""
    kept.clear()
    _slowest.clear()


def take() -> list[SampleFiles]:
    """What was kept since the last time."""
    taken = kept.copy()
    kept.clear()
    return taken


def saw(path: Any) -> None:
    """A reading function was given a path, while something records, or `switch.unrecorded` looks at samples. Outside of
    a sample nobody asks for it."""
    thread = switch.thread.open
    if (
        (thread.sample or thread.noticed)
        and len(thread.files) < FILES
        and (type(path) is str or hasattr(type(path), "__fspath__"))
        and not _is_known(path, thread.files)
    ):
        thread.files.append(path)


def _is_known(path: Any, files: list[Any]) -> bool:
    """A decoder and ``open`` may both be given it. A class of the user's is not asked what it equals."""
    if type(path) is not str:
        return any(path is known for known in files)
    return any(type(known) is str and path == known for known in files)


def ended(files: list[Any], start: int, end: int) -> None:
    """A sample that opened `files` has ended."""
    length = end - start
    if len(_slowest) < SAMPLES:
        heapq.heappush(_slowest, length)
    elif length > _slowest[0]:
        heapq.heapreplace(_slowest, length)
    else:
        return
    if len(kept) < _MOST and (found := names(files)):
        kept.append(SampleFiles(start, list(found)))


def names(files: list[Any]) -> tuple[str, ...]:
    """As text, each once; none where the ``__fspath__`` of a class of the user's fails."""
    try:
        return tuple(dict.fromkeys(map(_text, files)))
    except Exception as error:
        report_error(_LOST, error)
        return ()


def _text(path: Any) -> str:
    text = os.fsdecode(path).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else "..." + text[3 - LONGEST :]
