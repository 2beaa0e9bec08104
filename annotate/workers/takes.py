"""Which loaders a loop goes over: those that give it a batch in most of its steps, told apart from what validates in
between, or in another thread.
"""

from __future__ import annotations

from _thread import get_ident
from collections import Counter, deque
from typing import Final

from annotate.recording.boundaries import are_gradients_on
from annotate.workers.batches import Batch
from annotate.workers.transport import Facts, Payload

_STEPS: Final = 8
"""The latest ones, by which a loop is known."""
_LEAST: Final = 1 / 4
"""Of these steps, in which a loop's loader gives a batch at least: one that gives it in fewer is a validation's."""

Take = tuple[int, int, bool]
"""Thread and loader (its number) of a batch; whether it was taken with gradients."""


class Takes:
    """Told of each batch, in the thread that takes it; asked in the one that steps."""

    def __init__(self) -> None:
        self._new: set[Take] = set()
        self.followed: Final[set[int]] = set()
        """Loaders whose batches are told of."""
        self._latest: Final[deque[set[Take]]] = deque(maxlen=_STEPS)

    def took(self, loader: int) -> None:
        self._new.add((get_ident(), loader, are_gradients_on()))

    def listener(self, loader: int) -> TakesOfLoader:
        """Of an epoch without workers, to which nobody else listens: the thread that takes its batches records them."""
        self.followed.add(loader)
        return TakesOfLoader(self, loader)

    def of_loop(self) -> set[int]:
        """Loaders of the calling thread's loop, at its latest steps; empty: no batch was seen."""
        if self._new:
            new, self._new = self._new, set()
            self._latest.append(new)
        kinds = [self._counts(is_own=own, with_gradients=grad) for grad in (True, False) for own in (True, False)]
        most = [max(counts.values(), default=0) for counts in kinds]
        least = max(1.0, _LEAST * len(self._latest))
        best = next((index for index, count in enumerate(most) if count >= least), most.index(max(most)))
        return {loader for loader, count in kinds[best].items() if 2 * count > most[best]}

    def _counts(self, *, is_own: bool, with_gradients: bool) -> Counter[int]:
        """In how many steps each loader gave such a batch. A batch that another thread took may be handed on."""
        kind, counts = (is_own, with_gradients), Counter[int]()
        for step in self._latest:
            counts.update({loader for thread, loader, grad in step if (thread == get_ident(), grad) == kind})
        return counts


class TakesOfLoader:
    """A `batches.Listener` that only tells of them."""

    def __init__(self, takes: Takes, loader: int) -> None:
        self._takes, self._loader = takes, loader

    def drawn(self, batch: Batch, indices: object) -> None:
        self._takes.took(self._loader)

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        pass

    def consumed(self, batch: Batch) -> None:
        pass
