"""Whether the thread that takes a loader's batches trains on them, for recorders that see no more than ``next()``.

A program may take its batches ahead, in a thread that hands them on through a queue: what that one waits is not what
the training waits. Who trains shows as an optimizer steps, as in `launch.turns`. Nothing is put into torch until a
batch is taken in another thread than the main one.
"""

from __future__ import annotations

import threading
from _thread import get_ident
from collections import deque
from typing import Final, Literal, NamedTuple

from annotate.recording import optimizer_steps
from annotate.saying import guard

Whose = Literal["own", "fed", "elsewhere"]
"""Who takes a loader's batches: the thread that trains on them, or the main one; another than the one that trains;
another than the main one, and which one trains is not known."""

_LOST: Final = "annotate does not see which thread trains"
_MOST: Final = 1024
"""Batches that are remembered until somebody trains."""
_TRIES: Final = 100
"""Batches that the hook is tried for: it cannot go in while an optimizer steps."""


class Counts(NamedTuple):
    """Batches."""

    elsewhere: int
    """Taken in another thread than the main one."""
    own: int
    """Of any thread, while who trains is looked for: taken by the thread that then trained on them."""
    fed: int
    """Taken by one that did not, before another one trained that had taken none."""

    def whose(self, batches: int) -> Whose:
        """By most of so many batches."""
        if self.fed > self.own:
            return "fed"
        return "elsewhere" if not self.own and 2 * self.elsewhere > batches else "own"


class Takings:
    """Of one loader, since they were last asked for; see `Counts`."""

    def __init__(self) -> None:
        self.elsewhere = self.own = self.fed = 0

    @property
    def counts(self) -> Counts:
        return Counts(self.elsewhere, self.own, self.fed)

    def take(self) -> Counts:
        """From any thread; what comes meanwhile may be lost."""
        found = self.counts
        self.elsewhere = self.own = self.fed = 0
        return found


class Takers:
    """Told of each batch, in the thread that takes it."""

    def __init__(self) -> None:
        self._main: Final = threading.main_thread().ident
        self._tries = 0
        self._looks_around = False
        self._taken: Final[deque[tuple[int, Takings]]] = deque(maxlen=_MOST)
        """Thread and loader of those that nobody has trained on; no lock, as all is done by single calls of it."""
        self._without: Final[dict[int, int]] = {}
        """Thread that has trained on a batch of its own -> its steps since the last one."""

    def took(self, takings: Takings, *, with_gradients: bool) -> None:
        """`with_gradients`: it is no evaluation's, for all that is known."""
        thread = get_ident()
        if thread != self._main:
            takings.elsewhere += 1
            if not self._looks_around and self._tries < _TRIES:
                self._look_around()
        if self._looks_around and with_gradients:
            self._taken.append((thread, takings))

    def _look_around(self) -> None:
        self._tries += 1
        with guard(_LOST):
            self._looks_around = True  # before it: another thread may come here meanwhile
            self._looks_around = optimizer_steps.listen(self._stepped)

    def end(self) -> None:
        """Look no more. Harmless when that is so."""
        self._tries = _TRIES
        if self._looks_around:
            self._looks_around = False
            optimizer_steps.ignore(self._stepped)

    def _stepped(self, optimizer: int) -> None:
        """In the thread that has stepped."""
        if self._taken:
            with guard(_LOST):
                self._trained(get_ident(), [self._taken.popleft() for _ in range(len(self._taken))])

    def _trained(self, thread: int, taken: list[tuple[int, Takings]]) -> None:
        own = [takings for taker, takings in taken if taker == thread]
        others = [(taker, takings) for taker, takings in taken if taker != thread]
        for takings in own:
            takings.own += 1
        if own:
            self._without[thread] = 0
        elif thread in self._without:
            self._without[thread] += 1
        is_fed = not self._trains_on_its_own(thread)
        for taker, takings in others:
            if self._trains_on_its_own(taker):
                self._taken.append((taker, takings))  # it has yet to step
            elif is_fed:
                takings.fed += 1

    def _trains_on_its_own(self, thread: int) -> bool:
        return self._without.get(thread, optimizer_steps.OF_A_BATCH) < optimizer_steps.OF_A_BATCH
