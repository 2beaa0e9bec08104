"""Which thread trains, and when it is its turn: torch's profiler records the thread that starts it.

In most programs the main thread takes the batches, and each of them is a turn. Where other threads take batches it
shows when an optimizer steps: a thread that has taken a batch before trains on its own, and its batches are the turns;
one that has not is fed by the others, and its steps are. Batches that another thread takes without gradients while
others come with them are an evaluation's, and nobody is fed by those. A loader class whose iterator is a generator
(MONAI's ThreadDataLoader) shows it as well, whenever it hands on what another thread has taken. Where neither ever
comes (no training, or none with torch's optimizers), the one thread that takes batches is presumed to use them.
"""

from __future__ import annotations

import threading
from _thread import get_ident
from collections.abc import Callable
from typing import Final, Protocol

from annotate.hooks import wrappers
from annotate.recording import optimizer_steps
from annotate.recording.boundaries import are_gradients_on
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
        self._trained_with: set[int] = set()
        """Those of them that have taken one with gradients."""
        self._without: Final[dict[int, int]] = {}
        """Thread that has trained on a batch of its own -> its steps since the last one."""
        self._ready = 0
        """Batches that other threads have taken, and that nobody has trained on: they may take several ahead."""
        self._are_with_gradients = False
        """Those are: once one was, batches of other threads without are an evaluation's."""
        self._latest: Source | None = None
        """Of those."""
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
        thread, with_gradients = get_ident(), are_gradients_on()
        self._takers.add(thread)
        if with_gradients:
            self._trained_with.add(thread)
        if thread == self._trains:
            self.is_fed = False
            self._turn(epoch)
            return
        self.elsewhere += 1
        self._note_ready(epoch, with_gradients)
        if not self._looks_around:
            self._looks_around = True
            optimizer_steps.listen(self._stepped)
            wrappers.on_handed_on = self._handed_on
        if self.elsewhere >= _PATIENCE and not self._is_shown and self._takers == {thread}:
            self._trains, self.is_presumed = thread, True

    def _note_ready(self, epoch: Source, with_gradients: bool) -> None:
        if with_gradients and not self._are_with_gradients:
            self._are_with_gradients, self._ready = True, 0
        if with_gradients or not self._are_with_gradients:
            self._ready += 1
            self._latest = epoch

    def end(self) -> None:
        """Look no more at what threads do. Harmless when that is so."""
        if self._looks_around:
            self._looks_around = False
            optimizer_steps.ignore(self._stepped)
            wrappers.on_handed_on = None
        self._latest = None

    def _stepped(self, optimizer: int) -> None:
        with guard(_LOST):
            self._is_shown, thread = True, get_ident()
            if thread in self._takers:
                if thread in self._trained_with:
                    self._without[thread] = 0
                self._trains, self.is_presumed = thread, False
                self._takers, self._trained_with = set(), set()
                self._ready = 0
            elif self._without.get(thread, optimizer_steps.OF_A_BATCH) < optimizer_steps.OF_A_BATCH:
                self._without[thread] += 1  # of another optimizer, or again; others evaluate meanwhile
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
            self._takers, self._trained_with, self.is_fed = set(), set(), is_fed
            self._turn(self._latest)
