"""Where steps end in a loop whose profiler makes no ``ProfilerStep#`` spans: by the optimizer, else by the batches."""

from __future__ import annotations

from _thread import get_ident
from time import perf_counter_ns
from typing import Final

from annotate.recording import callers, optimizer_steps
from annotate.saying import guard
from annotate.trace_format import StepSource

_LOST: Final = "annotate does not see the optimizer's steps"
_MOST: Final = 100_000


class Boundaries:
    """Of one window, as its thread sees them: with gradient accumulation a step has several batches."""

    def __init__(self) -> None:
        self._began = 0
        self._is_open = False
        self._thread = 0
        self._is_batch_new = False
        self._batches: list[int] = []
        self._optimizer: list[int] = []

    def open(self) -> None:
        """The calling thread trains."""
        self._batches, self._optimizer = [], []
        self._is_batch_new = False
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
            self._is_batch_new = True

    def _stepped(self) -> None:
        if self._is_batch_new and self._is_open and get_ident() == self._thread:
            self._is_batch_new = False
            self._optimizer.append(perf_counter_ns())
            callers.saw_step()

    def found(self) -> tuple[StepSource, list[int]]:
        """Who ends the steps, and their boundaries (``perf_counter_ns``), one more than there are steps."""
        if self._optimizer:
            return "optimizer", [self._began, *self._optimizer]
        return "batch", self._batches
