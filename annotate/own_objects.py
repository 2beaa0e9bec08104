"""Objects of ours do not bring the program's next full garbage collection closer.

Python collects everything once a quarter of what it holds is new, which takes 0.1 to 0.3 s of a program that has
imported torch. Our modules and hooks would otherwise be what is one object too many, often in the middle of a window.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_IMMORTAL: Final = 5_000
"""Python 3.12 and later freeze their own immortal objects, some hundreds. All that a program holds is far more."""


@contextmanager
def uncounted() -> Generator[None, None, None]:
    """What is made within counts as old. Nothing is collected meanwhile, so the block has to be short.

    Where the program has frozen objects it is left alone: its own could not be told from ours.
    """
    if gc.get_freeze_count() > _IMMORTAL:
        yield
        return
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # into the oldest generation, without looking at them
        if collects:
            gc.enable()
