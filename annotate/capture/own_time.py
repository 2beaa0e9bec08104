"""How long the loop's own work takes while nothing records: what the same work takes in a window is compared with."""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import Final

KEPT: Final = 20
"""Steps: the latest before a window."""


class OwnTime:
    """Told by the loop over ``prof.steps`` of each batch: two looks at a clock. Times are from a batch to the next
    wait.
    """

    def __init__(self) -> None:
        self._durations: deque[int] = deque(maxlen=KEPT)
        self._began: int | None = None
        self.is_untouched = True
        """No profiler prepares or records in this process for us."""

    def begin(self) -> None:
        """The loop gets a batch."""
        self._began = perf_counter_ns() if self.is_untouched else None

    def end(self) -> None:
        """It asks for the next one."""
        if self._began is not None:
            self._durations.append(perf_counter_ns() - self._began)
            self._began = None

    def before_us(self) -> list[float]:
        """Of the latest steps outside of windows."""
        return [round(duration / 1000, 3) for duration in self._durations]
