"""When a loop took its batches, and how long its window is. A validation's loop may come between two batches of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from annotate.capture.sentences import few_left, shorter_window
from annotate.capture.steadiness import FEWEST, Pause, shortened, window_length
from annotate.launch.turns import Source

_PACE: Final = 2 * FEWEST + 1
"""Moments of earlier epochs that are kept, by which the time of a step is known as a new epoch begins."""
_MOST: Final = 16
"""Loaders of which they are kept, the latest ones: a program may make a new one for each validation."""


class LoopTimes:
    """Of one epoch; seconds, the latest last."""

    def __init__(self, epoch: int, earlier: Sequence[float] = ()) -> None:
        """
        Args:
            earlier: moments of earlier epochs.
        """
        self.epoch: Final = epoch
        self.taken: Final[list[float]] = []
        """When each batch of this epoch was."""
        self._earlier: Final = earlier

    def paced(self, count: int) -> list[float]:
        """When its first `count` batches were taken, and before them as many of earlier epochs as tell a step's time.
        What the program did between two epochs is left out.
        """
        taken = self.taken[:count]
        if not taken or not self._earlier:
            return taken or list(self._earlier)
        between = taken[0] - self._earlier[-1]
        return [time + between for time in self._earlier[:-1]] + taken

    def next_epoch(self, epoch: int) -> LoopTimes:
        return LoopTimes(epoch, self.paced(len(self.taken))[-_PACE:])


class TimesOfLoops:
    """Of the latest epoch of each loader: that of a training loop goes on after a validation in the middle of it."""

    def __init__(self) -> None:
        self._of_loader: Final[dict[int, LoopTimes]] = {}

    def of(self, source: Source) -> LoopTimes:
        times = self._of_loader.pop(source.loader, None)
        if times is None or times.epoch != source.epoch:
            times = LoopTimes(source.epoch) if times is None else times.next_epoch(source.epoch)
        self._of_loader[source.loader] = times
        if len(self._of_loader) > _MOST:
            del self._of_loader[next(iter(self._of_loader))]
        return times


def chosen_length(times: Sequence[float], left: int | None, pause: Pause | None) -> tuple[int, str]:
    """Steps of a window, and why they are fewer than by their time; "": they are not.

    Args:
        times, left: as `window_length`.
    """
    by_time, wanted = window_length(times, None), window_length(times, left)
    window = shortened(wanted, pause)
    if window is not None:
        return window.steps, shorter_window(window)
    return wanted, few_left(wanted, by_time, f"`tb-dataplugin run --active {by_time}`") if wanted < by_time else ""
