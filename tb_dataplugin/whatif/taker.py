"""In the simulation: another thread of the program, which receives batches ahead of the loop (`Loop.ahead`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

NEVER: Final = float("inf")


@dataclass(slots=True)
class Taker:
    """It receives one batch after the other, as they arrive, and keeps up to `room` of them for the loop, in `kept`.

    ready         when each batch arrives that was sent and not received
    taking, held  per batch, how long it takes, and for how long its worker may hold it up beyond that
    building_of   which batch the worker of a batch builds now; -1: none
    handed        called with each batch that goes into `kept`
    left          of the batch that it receives, in ns without contention; 0: its worker holds it up
    """

    room: int
    in_order: bool
    ready: dict[int, float]
    taking: list[float]
    held: list[float]
    building_of: Callable[[int], int]
    handed: Callable[[int], None]
    kept: list[int] = field(default_factory=list)
    left: float = 0.0
    _batch: int = -1
    _building: int = -1
    _held_until: float = NEVER
    _received: list[int] = field(default_factory=list)
    _number: int = 0

    @property
    def is_at_work(self) -> bool:
        return self.left > 0

    def until(self, now: float) -> float:
        """Does what takes no time; then until when it waits, if no worker finishes a batch before."""
        while not self.left:
            if self._batch >= 0:
                if self._building >= 0 and self._building == self.building_of(self._batch) and now < self._held_until:
                    return self._held_until
                self._keep()
            elif len(self.kept) >= self.room or not self.ready:
                return NEVER
            else:
                batch = min(self.ready, key=self.ready.__getitem__)
                if self.ready[batch] > now:
                    return self.ready[batch]
                del self.ready[batch]
                self._batch, self.left = batch, self.taking[batch]
                if not self.left:
                    self._hold(now)
        return NEVER

    def work(self, ns: float, now: float) -> None:
        """It has done so much; rounding leaves nothing."""
        if self.left:
            self.left = left if (left := self.left - ns) > 1e-6 else 0.0
            if not self.left:
                self._hold(now)

    def _hold(self, now: float) -> None:
        self._building, self._held_until = self.building_of(self._batch), now + self.held[self._batch]

    def _keep(self) -> None:
        """That batch, and those which came before their turn."""
        self._received.append(self._batch)
        self._batch = -1
        while self._received and (self._number in self._received or not self.in_order):
            batch = self._number if self.in_order else self._received[0]
            self._received.remove(batch)
            self.kept.append(batch)
            self._number += 1
            self.handed(batch)
