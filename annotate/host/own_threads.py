"""Which threads of the user's process are annotate's own: what they read and open is not the program's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, get_ident
from time import monotonic, sleep
from typing import Final

IDENTS: Final[set[int]] = set()


@contextmanager
def own_thread() -> Iterator[None]:
    """The calling thread is ours until the block ends."""
    ident = get_ident()
    IDENTS.add(ident)
    try:
        yield
    finally:
        IDENTS.discard(ident)


def wait_until_gone(thread: Thread, patience_s: float) -> None:
    """For Python and for the system: before Python 3.13 `join` returns while the latter still counts it."""
    until, task = monotonic() + patience_s, Path(f"/proc/self/task/{thread.native_id}")
    thread.join(patience_s)
    while task.exists() and monotonic() < until:
        sleep(0)
