"""Batches of a dormant worker, which carry nothing: what becomes known of them once a profiler prepares.

The batches that fill the queues as an epoch begins are tagged, so that each worker knows its place in the turns; after
that it counts. A worker that awakes says of its first batch which one that is, and when it finished those before it.
What a batch that raised in the dataset leaves wrong (the worker does not count it) is right again with the next tag.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from annotate.workers.batches import Batch
from annotate.workers.transport import NOTHING_WANTED, Tag

NAME: Final = "naps"
"""In the payload of a parcel: when the batches before it were finished (perf_counter_ns), the latest last."""
_LATEST: Final = 64


class Naps:
    """A worker's side: which batch is next, where workers take turns."""

    __slots__ = ("_finished", "_is_dormant", "_iteration", "_next", "_turns", "is_guess")

    def __init__(self, turns: int, is_dormant: Callable[[], bool]) -> None:
        """
        Args:
            turns: the number of workers.
            is_dormant: no profiler is at work.
        """
        self.is_guess = False
        """The tag of the batch in work was made here."""
        self._turns = turns
        self._is_dormant = is_dormant
        self._iteration = -1
        self._next = -1
        self._finished: deque[int] = deque(maxlen=_LATEST)

    def tagged(self, tag: Tag) -> None:
        """A batch has come with its tag."""
        self.is_guess = False
        if self._finished and (self._is_dormant() or (tag.iteration, tag.batch) != (self._iteration, self._next)):
            self._finished.clear()
        self._iteration, self._next = tag.iteration, tag.batch + self._turns

    def passes(self, finished: int) -> bool:
        """A batch without a tag is finished. True: counted, and that is all that is to be done."""
        if not self._is_dormant() or self._next < 0:
            return False
        self._next += self._turns
        self._finished.append(finished)
        return True

    def awake(self) -> tuple[Tag, int] | None:
        """Of a batch that was finished without a tag: its tag, and when it cannot have been begun before. None: not
        known."""
        if self._next < 0:
            return None
        tag = Tag(self._iteration, self._next, NOTHING_WANTED)
        self._next += self._turns
        self.is_guess = True
        return tag, self._finished[-1] if self._finished else 0

    def in_work(self) -> tuple[int, int]:
        """Iteration and number of a batch without a tag; -1: not known."""
        return self._iteration, self._next

    def take(self) -> tuple[int, ...]:
        """When the batches before the one that leaves were finished; each is told once."""
        if not self._finished:
            return ()
        finished = tuple(self._finished)
        self._finished.clear()
        return finished

    def next_one(self) -> Tag | None:
        """The tag of the batch that follows a guessed one, as long as a profiler is at work."""
        if not self.is_guess or self._is_dormant():
            return None
        tag = Tag(self._iteration, self._next, NOTHING_WANTED)
        self._next += self._turns
        return tag


def workers_taking_turns(iterator: Any) -> int:
    """How many, where batch n goes to worker n modulo that number; 0: not known of this class of iterators."""
    module = sys.modules.get("torch.utils.data.dataloader")
    if module is None or type(iterator) is not getattr(module, "_MultiProcessingDataLoaderIter", None):
        return 0
    count = getattr(iterator, "_num_workers", 0)
    return count if isinstance(count, int) else 0


def note(batch: Batch, finished: tuple[int, ...], woken: dict[int, Batch], turns: int) -> None:
    """Complete what is known of the batches that came from the same worker before `batch`.

    They had arrived when it did, at the latest. A batch was begun when it had been drawn and the one before was
    finished.

    Args:
        finished: as in the payload.
        woken: the batches that were on their way, by number.
    """
    for place, moment in enumerate(reversed(finished)):
        known = woken.get(batch.batch - turns * (place + 1))
        if known is None or known.arrived is not None:
            continue
        before = finished[-2 - place] if place + 2 <= len(finished) else 0
        known.worker, known.pid, known.finished = batch.worker, batch.pid, moment
        known.started = min(moment, max(before, known.drawn or 0)) if before else None
        known.arrived = min(batch.arrived or moment, known.consumed or sys.maxsize)
