"""Where steps end in a loop whose profiler makes no ``ProfilerStep#`` spans: by the optimizer, else by the batches.

Batches that a program which trains takes without gradients are an evaluation's, and no steps of the training.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from time import perf_counter_ns
from typing import Final

from annotate.recording import callers, optimizer_steps
from annotate.saying import guard
from annotate.trace_format import StepSource

_LOST: Final = "annotate does not see the optimizer's steps"
_MOST: Final = 100_000
_LEAST_TRAINED: Final = 10
"""Batches with gradients, from which a program trains: one that only predicts may look at some before it turns them
off."""

_with_gradients = 0
"""Batches of this process that were taken so, up to those."""


def are_gradients_on() -> bool:
    """In the calling thread."""
    torch = sys.modules.get("torch")  # not imported for this: `annotate.stage` goes without
    return torch is None or bool(torch.is_grad_enabled())


def took_batch() -> bool:
    """The calling thread has got a batch, or with zero workers asks for it. Whether with gradients: one that is trained
    on, or may be.
    """
    global _with_gradients
    if not are_gradients_on():
        return False
    if _with_gradients < _LEAST_TRAINED:
        _with_gradients += 1
    return True


def trains() -> bool:
    """Whether the program has taken batches with gradients, so that those without are an evaluation's. Only known of
    batches that somebody looked at.
    """
    return _with_gradients >= _LEAST_TRAINED


class Boundaries:
    """Of one window, as its thread sees them: with gradient accumulation a step has several batches."""

    def __init__(self) -> None:
        self._began = 0
        self._is_open = False
        self._thread = 0
        self._is_batch_new = False
        self._batches: list[int] = []
        self._trained: list[int] = []
        """Those with gradients."""
        self._optimizer: list[int] = []
        """Of whichever steps first after a batch."""
        self._steps: dict[int, list[int]] = {}
        """All of each optimizer."""
        self._elsewhere = 0
        """Batches that other threads took."""

    def open(self) -> None:
        """The calling thread trains."""
        self._batches, self._trained, self._optimizer = [], [], []
        self._steps, self._elsewhere, self._is_batch_new = {}, 0, False
        self._began, self._thread, self._is_open = perf_counter_ns(), get_ident(), True
        with guard(_LOST):
            optimizer_steps.listen(self._stepped)

    def close(self) -> None:
        """Harmless when it is not open."""
        self._is_open = False
        optimizer_steps.ignore(self._stepped)

    def batch(self, now: int) -> None:
        """The loop got a batch, or with zero workers asked for it."""
        if self._is_open and len(self._batches) < _MOST:
            self._batches.append(now)
            if took_batch():
                self._trained.append(now)
            self._elsewhere += get_ident() != self._thread
            self._is_batch_new = True

    def _stepped(self, optimizer: int) -> None:
        if not self._is_open or get_ident() != self._thread:
            return
        now = perf_counter_ns()
        steps = self._steps.setdefault(optimizer, [])
        if len(steps) < _MOST:
            steps.append(now)
        if self._is_batch_new:
            self._is_batch_new = False
            self._optimizer.append(now)
            callers.saw_step()

    def _steps_when_fed(self) -> list[int]:
        """Other threads take batches ahead: of the optimizers the one whose steps are about as many."""
        return min(self._steps.values(), key=lambda steps: abs(len(steps) - len(self._batches)))

    def found(self) -> tuple[StepSource, list[int]]:
        """Who ends the steps, and their boundaries (``perf_counter_ns``), one more than there are steps. Batches of an
        evaluation are part of the step that they come in; where there are no others, each is a step.
        """
        if self._optimizer:
            is_fed = self._elsewhere == len(self._batches)
            return "optimizer", [self._began, *(self._steps_when_fed() if is_fed else self._optimizer)]
        return "batch", self._trained if self._trained and trains() else self._batches

    @property
    def evaluates(self) -> bool:
        """Whether all batches of the window are an evaluation's."""
        return trains() and bool(self._batches) and not self._trained and not self._optimizer
