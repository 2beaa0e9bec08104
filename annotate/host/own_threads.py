"""Which threads of the user's process are annotate's own: what they read and open is not the program's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
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
