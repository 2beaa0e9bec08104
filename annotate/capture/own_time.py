"""How long the loop's own work takes while nothing records: what the same work takes in a window is compared with."""

from __future__ import annotations

from _thread import get_ident
from collections import deque
from time import perf_counter_ns
from typing import Final, Protocol

KEPT: Final = 20
"""Steps: the latest before a window."""


class HandedOut(Protocol):
    """What is known of batches from DataLoader workers. `last_handed_out`: thread and moment, ns."""

    @property
    def handed_out(self) -> int: ...
    @property
    def last_handed_out(self) -> tuple[int, int]: ...


class OwnTime:
    """From a batch to the next wait. A loop over ``prof.steps`` tells of each batch: two looks at a clock. Elsewhere it
    is from the batch of a step to the step's end, where that step had one batch, from DataLoader workers.
    """

    def __init__(self) -> None:
        self._is_told = False
        """By a loop over ``prof.steps``."""
        self._handed_out = 0
        self._durations: deque[int] = deque(maxlen=KEPT)
        self._began: int | None = None
        self.is_untouched = True
        """No profiler prepares or records in this process for us."""

    def begin(self) -> None:
        """The loop gets a batch."""
        self._is_told = True
        self._began = perf_counter_ns() if self.is_untouched else None

    def end(self) -> None:
        """It asks for the next one."""
        if self._began is not None:
            self._durations.append(perf_counter_ns() - self._began)
            self._began = None

    def step_ends(self, batches: HandedOut) -> None:
        """In the thread that trains."""
        now, count = perf_counter_ns(), batches.handed_out - self._handed_out
        self._handed_out = batches.handed_out
        thread, began = batches.last_handed_out
        if self.is_untouched and count == 1 and not self._is_told and thread == get_ident():
            self._durations.append(now - began)

    def before_us(self) -> list[float]:
        """Of the latest steps outside of windows."""
        return [round(duration / 1000, 3) for duration in self._durations]
