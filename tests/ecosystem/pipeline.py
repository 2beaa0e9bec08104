"""`Pipeline`: a loader made as its library's documentation makes one, with one slow stage planted in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

RUN = "run --"
"""`tb-dataplugin run`, of a program without a word of us."""
PROFILED = ("steps", "auto", "own profiler")
"""``annotate.profile`` with ``prof.steps(loader)``, with ``annotate.auto()``; the user's own profiler with that."""
WAYS = (*PROFILED, RUN)
INSIDE = ("steps", "auto")
"""Where the loop begins when the capture is on."""
FROM_START = (*INSIDE, RUN)
"""Where we are there when the loop begins."""
SIZE, BATCH = 192, 4
SECONDS = 0.015
"""What the planted stage takes per sample: several times as much as the rest of each pipeline."""


class Pipeline(NamedTuple):
    library: str
    """Name of its distribution; its version is in the table."""
    title: str
    """What of the library is used."""
    make: Callable[[Path], Any]
    """The loader, from files that it writes into a folder."""
    planted: str
    """The slow stage, as the report is to name it."""
    batches: int = SIZE // BATCH
    ways: tuple[str, ...] = WAYS
    """In which the planted stage must come first."""
    unseen: str = ""
    """What the report cannot say of it, and why."""


class Slow:
    """A transform of the user's own."""

    def __call__(self, x: Any) -> Any:
        time.sleep(SECONDS)
        return x


def slow(x: Any) -> Any:
    """The same as a function."""
    time.sleep(SECONDS)
    return x
