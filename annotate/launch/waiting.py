"""When to record a program that knows nothing of it: asked at each batch that its training thread takes.

As ``wait="auto"`` of `annotate.profile`, for the first loader for which that is the case. Batches that are taken
without gradients are a validation's (Lightning begins with one), unless no others come for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import torch

from annotate.capture.steadiness import FEWEST, Loop, WhenSteady
from annotate.options import Wait
from annotate.recording import boundaries

LEAD: Final = 2
"""Batches recorded beside the steps: the window opens within the wait of one, and closes within that of another."""
_LONGEST_WARM_UP: Final = 32
_PATIENCE: Final = 2 * FEWEST
"""Batches without gradients in a row, until they are taken for the program's work."""


class Taken(NamedTuple):
    """A batch of a loader has been taken."""

    loader: int
    epoch: int
    prefetched: int
    """Batches that the loader keeps ready."""
    length: int | None
    """Batches of an epoch, where it has a length."""


class Waiting:
    """Asked at each batch until it is time."""

    def __init__(self, wait: Wait, active: int) -> None:
        self._wait = wait
        self._active = active
        self._without_gradients = 0
        self._loaders: dict[int, Callable[[Taken], int | None]] = {}

    def warm_up(self, taken: Taken) -> int | None:
        """Once it is time to prepare: after how many further batches to record, so that what was prefetched is used
        up by then. None before.
        """
        if boundaries.took_batch():
            self._without_gradients = 0
        elif self._without_gradients < _PATIENCE:
            self._without_gradients += 1
            return None
        if taken.loader not in self._loaders:
            self._loaders[taken.loader] = self._of_loader(taken)
        return self._loaders[taken.loader](taken)

    def is_in_evaluation(self, length: int | None) -> bool:
        """Whether a window that opens now would begin with an evaluation of a program that trains: it waits for the end
        of that, but not for longer than one pass over its loader takes. Told of each batch from which it might open.

        Args:
            length: batches of that pass.
        """
        if boundaries.took_batch() or not boundaries.trains():
            self._without_gradients = 0
            return False
        self._without_gradients += 1
        return self._without_gradients <= max(_PATIENCE, length or 0)

    def _of_loader(self, taken: Taken) -> Callable[[Taken], int | None]:
        warm_up = longest_warm_up(taken.prefetched)
        if self._wait != "auto":
            return After(self._wait, warm_up)
        recorded = self._active + LEAD
        if taken.length is not None and taken.length <= warm_up + recorded:
            return After(1, min(warm_up, taken.length // 4))  # of a short loop: whatever can be had
        return WhenItIsSteady(warm_up, recorded)


def longest_warm_up(prefetched: int) -> int:
    """Batches after which what was prefetched is used up, within reason."""
    return min(max(2, prefetched + 1), _LONGEST_WARM_UP)


class After:
    """After so many batches."""

    def __init__(self, batches: int, warm_up: int) -> None:
        self._left = batches
        self._warm_up = warm_up

    def __call__(self, taken: Taken) -> int | None:
        self._left -= 1
        return self._warm_up if self._left < 0 else None


class WhenItIsSteady:
    """When the prefetched batches are used up and the step time has settled."""

    def __init__(self, warm_up: int, recorded: int) -> None:
        self._warm_up = warm_up
        self._loop = Loop(0, 0, None)
        self._steps = -1
        self._action = WhenSteady(warm_up, recorded, 1, lambda: self._loop)

    def __call__(self, taken: Taken) -> int | None:
        self._loop = Loop(taken.prefetched, taken.epoch + 1, taken.length)
        self._steps += 1
        return None if self._action(self._steps) == torch.profiler.ProfilerAction.NONE else self._warm_up
