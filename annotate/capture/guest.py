"""A recording that the program did not ask for (`annotate.launch`): it gives way to whatever the program does."""

from __future__ import annotations

import os
from typing import Literal, Protocol

Whose = Literal["program", "guest", "trial"]
"""A profiler: the program's own, one that records for a guest, or that tries one step out for it."""


class Guest(Protocol):
    """Who records; one per process."""

    def give_way(self, why: str) -> None:
        """Stop now, and keep nothing. Harmless when nothing is recorded."""

    def wrote(self, path: str) -> None:
        """A trace file of the program's own profiler has our rows."""

    def forget(self) -> None:
        """This process was forked from the one that records."""


_guest: Guest | None = None


def receive(guest: Guest | None) -> None:
    """Have `guest` told from now on; None: nobody."""
    global _guest
    _guest = guest


def is_there() -> bool:
    return _guest is not None


def give_way(why: str) -> None:
    """The program is about to do what a recording of ours would stand in the way of."""
    if _guest is not None:
        _guest.give_way(why)


def wrote(path: str) -> None:
    if _guest is not None:
        _guest.wrote(path)


def _after_fork() -> None:
    """What is recorded is the parent's."""
    if _guest is not None:
        _guest.forget()
    receive(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
