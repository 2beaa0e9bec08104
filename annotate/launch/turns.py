"""Which thread trains, and when it is its turn: torch's profiler records the thread that starts it.

In most programs the main thread takes the batches, and each of them is a turn. Where other threads take batches it
shows when an optimizer steps: a thread that has taken a batch before trains on its own, and its batches are the turns;
one that has not is fed by the others, and its steps are. A loader class whose iterator is a generator (MONAI's
ThreadDataLoader) shows it as well, whenever it hands on what another thread has taken. Where neither ever comes (no
training, or none with torch's optimizers), the one thread that takes batches is presumed to use them.
"""

from __future__ import annotations

import threading
from _thread import get_ident
from collections.abc import Callable
from typing import Final, Protocol

from annotate.hooks import wrappers
from annotate.recording import optimizer_steps
from annotate.saying import guard

_LOST: Final = "annotate does not record this program"
_PATIENCE: Final = 50
"""Batches that one thread takes until it is presumed to use them; accumulated gradients take more than a few a step."""


class Source(Protocol):
    """What batches come from: an epoch of a DataLoader, or an iterator that is none of torch's."""

    @property
    def loader(self) -> int: ...

    @property
    def epoch(self) -> int: ...


class Turns:
    """Told of each batch that is handed out, in any thread; calls `turn` in the thread that trains."""

    def __init__(self, turn: Callable[[Source], None]) -> None:
        self._turn = turn
        self._trains: int | None = threading.main_thread().ident
        """The thread whose own batches are the turns."""
        self._takers: set[int] = set()
        """Threads that have taken a batch since one trained."""
        self._ready = 0
        """Batches that other threads have taken, and that nobody has trained on: they may take several ahead."""
        self._latest: Source | None = None
        self._looks_around = False
        self._is_shown = False
        """A thread has trained, or was handed a batch."""
        self.elsewhere = 0
        """Batches that were taken in other threads."""
        self.is_fed = False
        """The thread of the latest turn had its batch from another thread, and nothing shows how it waited for it."""
        self.is_presumed = False
        """The thread whose batches are the turns has never been seen to train."""

    def batch(self, epoch: Source) -> None:
        """The calling thread has got a batch, or with zero workers asks for it."""
        thread = get_ident()
        self._takers.add(thread)
        self._latest = epoch
        if thread == self._trains:
            self.is_fed = False
            self._turn(epoch)
            return
        self.elsewhere += 1
        self._ready += 1
        if not self._looks_around:
            self._looks_around = True
            optimizer_steps.listen(self._stepped)
            wrappers.on_handed_on = self._handed_on
        if self.elsewhere >= _PATIENCE and not self._is_shown and self._takers == {thread}:
            self._trains, self.is_presumed = thread, True

    def end(self) -> None:
        """Look no more at what threads do. Harmless when that is so."""
        if self._looks_around:
            self._looks_around = False
            optimizer_steps.ignore(self._stepped)
            wrappers.on_handed_on = None
        self._latest = None

    def _stepped(self, optimizer: int) -> None:
        with guard(_LOST):
            self._is_shown = True
            if get_ident() in self._takers:
                self._trains, self._takers, self.is_presumed = get_ident(), set(), False
                self._ready = 0
            else:
                self._got_one_of_others(is_fed=True)

    def _handed_on(self) -> None:
        with guard(_LOST):
            if get_ident() not in self._takers:
                self._is_shown = True
                self._got_one_of_others(is_fed=False)

    def _got_one_of_others(self, *, is_fed: bool) -> None:
        if self._ready and self._latest is not None:
            self._ready -= 1
            self._takers, self.is_fed = set(), is_fed
            self._turn(self._latest)
