"""Where steps end in a loop whose profiler makes no ``ProfilerStep#`` spans: by the optimizer, else by the batches.

Batches that a program which trains takes without gradients are an evaluation's, and no steps of the training. Where
the thread that trains takes its batches itself, those of other threads are none of its steps either.
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


class _Batches:
    """Of one window, as the loop got them: moments in ``perf_counter_ns``."""

    def __init__(self) -> None:
        self.all: Final[list[int]] = []
        self.trained: Final[list[int]] = []
        """Those with gradients."""
        self.steps: Final[list[int]] = []
        """Of whichever optimizer steps first after one."""
        self.is_new = False
        """No optimizer has stepped since."""

    def add(self, now: int, *, with_gradients: bool) -> None:
        self.all.append(now)
        if with_gradients:
            self.trained.append(now)
        self.is_new = True

    def step(self, now: int) -> bool:
        """Whether it is the first one after a batch."""
        is_first, self.is_new = self.is_new, False
        if is_first:
            self.steps.append(now)
        return is_first


class Boundaries:
    """Of one window, as its thread sees them: with gradient accumulation a step has several batches."""

    def __init__(self) -> None:
        self._began = 0
        self._is_open = False
        self._thread = 0
        self._of_all, self._own, self._others = _Batches(), _Batches(), _Batches()
        """The batches of all threads; of its own; of the others."""
        self._steps: dict[int, list[int]] = {}
        """All of each optimizer."""

    def open(self) -> None:
        """The calling thread trains."""
        self._of_all, self._own, self._others = _Batches(), _Batches(), _Batches()
        self._steps = {}
        self._began, self._thread, self._is_open = perf_counter_ns(), get_ident(), True
        with guard(_LOST):
            optimizer_steps.listen(self._stepped)

    def close(self) -> None:
        """Harmless when it is not open."""
        self._is_open = False
        optimizer_steps.ignore(self._stepped)

    def batch(self, now: int) -> None:
        """A loop got a batch, or with zero workers asked for it; in the thread that did."""
        if self._is_open and len(self._of_all.all) < _MOST:
            with_gradients = took_batch()
            for batches in (self._of_all, self._own if get_ident() == self._thread else self._others):
                batches.add(now, with_gradients=with_gradients)

    def _stepped(self, optimizer: int) -> None:
        if not self._is_open or get_ident() != self._thread:
            return
        now = perf_counter_ns()
        steps = self._steps.setdefault(optimizer, [])
        if len(steps) < _MOST:
            steps.append(now)
        is_of_own, is_of_any = self._own.step(now), self._of_all.step(now)
        if is_of_own or (is_of_any and not self._trains_on_its_own()):
            callers.saw_step()

    def _trains_on_its_own(self) -> bool:
        """Whether the thread takes the batches that it trains on: one that is fed may take those of an evaluation."""
        if not self._own.trained:
            return False
        fewest = min(map(len, self._steps.values()), default=0)
        return fewest <= optimizer_steps.OF_A_BATCH * len(self._own.steps)

    def _steps_when_fed(self) -> list[int]:
        """Other threads take batches ahead: of the optimizers the one whose steps are about as many."""
        batches = self._others.trained or self._others.all
        return min(self._steps.values(), key=lambda steps: abs(len(steps) - len(batches)))

    def found(self) -> tuple[StepSource, list[int]]:
        """Who ends the steps, and their boundaries (``perf_counter_ns``), one more than there are steps. Batches of an
        evaluation are part of the step that they come in; where there are no others, each is a step.
        """
        if self._of_all.steps:
            return "optimizer", [self._began, *self._ends()]
        if trains():
            return "batch", self._own.trained or self._others.trained or self._own.all or self._others.all
        return "batch", self._own.all or self._others.all

    def _ends(self) -> list[int]:
        if self._trains_on_its_own():
            return self._own.steps
        return self._of_all.steps if self._own.all else self._steps_when_fed()

    @property
    def evaluates(self) -> bool:
        """Whether all batches of the window are an evaluation's."""
        every = self._of_all
        return trains() and bool(every.all) and not every.trained and not every.steps
