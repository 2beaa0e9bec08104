"""Where steps end in a loop whose profiler makes no ``ProfilerStep#`` spans: by the optimizer, else by the batches."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import perf_counter_ns
from types import FrameType
from typing import Any, Final

from annotate.recording import callers
from annotate.saying import guard
from annotate.trace_format import StepSource

_LOST: Final = "annotate does not see the optimizer's steps"
_MOST: Final = 100_000


_left_over: Final[list[Any]] = []
"""Hooks to be removed."""


def remove_hooks() -> None:
    """Remove those of windows that have closed, unless an optimizer is about to call them: then the next time."""
    if _left_over and not _is_stepping(sys.modules["torch.optim.optimizer"].__file__ or ""):
        while _left_over:
            _left_over.pop().remove()


class Boundaries:
    """Of one window, as its thread sees them: with gradient accumulation a step has several batches."""

    def __init__(self) -> None:
        self._began = 0
        self._is_open = False
        self._thread = 0
        self._is_batch_new = False
        self._batches: list[int] = []
        self._optimizer: list[int] = []
        self._handle: Any = None

    def open(self) -> None:
        """The calling thread trains."""
        self._batches, self._optimizer = [], []
        self._is_batch_new = False
        self._began, self._thread, self._is_open = perf_counter_ns(), get_ident(), True
        with guard(_LOST):
            from torch.optim import optimizer

            register = getattr(optimizer, "register_optimizer_step_post_hook", None)  # torch 2.0
            if register is not None and self._handle is None and not _is_stepping(optimizer.__file__):
                self._handle = register(self._stepped)

    def close(self) -> None:
        """Harmless when it is not open."""
        self._is_open = False
        handle, self._handle = self._handle, None
        if handle is not None:
            _left_over.append(handle)
        remove_hooks()

    def batch(self, now: int) -> None:
        """The loop got a batch, or with zero workers asked for it."""
        if self._is_open and len(self._batches) < _MOST:
            self._batches.append(now)
            self._is_batch_new = True

    def _stepped(self, *args: object) -> None:
        if self._is_batch_new and self._is_open and get_ident() == self._thread:
            self._is_batch_new = False
            self._optimizer.append(perf_counter_ns())
            callers.saw_step()

    def found(self) -> tuple[StepSource, list[int]]:
        """Who ends the steps, and their boundaries (``perf_counter_ns``), one more than there are steps."""
        if self._optimizer:
            return "optimizer", [self._began, *self._optimizer]
        return "batch", self._batches


def _is_stepping(file: str) -> bool:
    """Whether an optimizer's step is going on in this thread: then its hooks must not change, and one of the user's may
    be what calls the profiler.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file:
            return True
        frame = frame.f_back
    return False
