"""The end of a process, however Python comes to it."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.util import Finalize
from typing import Final

_BEFORE_ITS_OWN: Final = 10
"""multiprocessing ends its own things afterwards, daemonic children among them."""


def at_end(function: Callable[[], None]) -> None:
    """Call `function` when this process ends, be it one that multiprocessing started: those call no exit handlers."""
    atexit.register(function)
    if parent_process() is not None:
        Finalize(None, function, exitpriority=_BEFORE_ITS_OWN)
