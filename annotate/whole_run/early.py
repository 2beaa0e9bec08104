"""A loop's first steps: what of them were stalls is told once it is well known what is usual."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from annotate.whole_run.usual import Usual

_ENOUGH_ROUNDS: Final = 10
"""Of those the usual one is known, also where several had a stall."""


class Kept(NamedTuple):
    """A step that trained on the batch before, and then waited for this one; nanoseconds."""

    t: float
    """When it ended, seconds since 1970."""
    epoch: int
    batch: int
    step: int
    wait: int
    is_told: bool
    """As a stall, or as part of a slow time."""


class EarlySteps:
    """Of a loader, those of its first rounds; later none."""

    def __init__(self, workers: int, wait: Usual, step: Usual) -> None:
        self._workers: Final = workers
        self._wait: Final = wait
        self._step: Final = step
        self._left: int = _ENOUGH_ROUNDS * wait.round_steps
        self._kept: list[Kept] = []

    @property
    def are_over(self) -> bool:
        return self._left <= 0

    def add(self, epoch: int, batch: int, step: int, wait: int, *, is_told: bool) -> bool:
        """Whether it is time to take the stalls among them."""
        self._left -= 1
        self._kept.append(Kept(time.time(), epoch, batch, step, wait, is_told))
        return self._left == 0

    def take_stalls(self) -> Iterator[tuple[Kept, Usual]]:
        """That nobody was told of, in their order, each with the quantity that was too long: the data wait, where that
        alone explains it.
        """
        kept, self._kept, self._left = self._kept, [], 0
        waits = self._wait.stalls_among([self._wait_of(each) for each in kept])
        steps = self._step.stalls_among([each.step - each.wait + self._wait_of(each) for each in kept])
        for each, is_wait, is_step in zip(kept, waits, steps, strict=True):
            if (is_wait or is_step) and not each.is_told:
                yield each, self._wait if is_wait else self._step

    def _wait_of(self, kept: Kept) -> int:
        """Without what only the start of a worker takes."""
        is_start = kept.epoch == 0 and kept.batch < self._workers
        return 0 if is_start else kept.wait
