"""Who calls a loader's ``next()``: the generators and iterators around it, whose own code is in no wait for a batch."""

from __future__ import annotations

import sys
from _thread import get_ident
from inspect import CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from annotate.saying import guard
from annotate.trace_format import CallerMetadata

_LOST: Final = "annotate does not see what stands around a DataLoader"
_OURS: Final = str(Path(__file__).parent.parent)
_MOST: Final = 32
"""Kinds of callers that are remembered."""
_DEEPEST: Final = 64
"""Frames that are looked at."""


_EXPRESSION: Final = "<genexpr>"
"""Its body may be the loop itself, as in ``sum(evaluate(batch) for batch in loader)``."""


class Callers:
    """Of one window, as its thread sees them. A caller that a step ends in is the training loop itself."""

    def __init__(self) -> None:
        self._thread = 0
        self._batches: dict[CodeType, int] = {}
        self._steps_inside: dict[CodeType, int] = {}
        self._steps = 0

    def open(self) -> None:
        """The calling thread trains."""
        global of_the_window
        self._batches, self._steps_inside, self._steps = {}, {}, 0
        self._thread, of_the_window = get_ident(), self

    def close(self) -> None:
        """Harmless when it is not open."""
        global of_the_window
        if of_the_window is self:
            of_the_window = None

    def batch(self, frame: FrameType | None) -> None:
        """A loader makes or hands out a batch, in the call that `frame` is the innermost one of."""
        if get_ident() != self._thread:
            return
        for code in _around(frame):
            if code in self._batches or len(self._batches) < _MOST:
                self._batches[code] = self._batches.get(code, 0) + 1

    def step(self, frame: FrameType | None) -> None:
        """A step ends there."""
        if get_ident() != self._thread or not self._batches:
            return
        self._steps += 1
        for code in {frame.f_code for frame in _outwards(frame)} & self._batches.keys():
            self._steps_inside[code] = self._steps_inside.get(code, 0) + 1

    def found(self) -> list[CallerMetadata]:
        """The innermost first."""
        return [
            {
                "function": getattr(code, "co_qualname", code.co_name),  # Python 3.11
                "file": code.co_filename,
                "first": code.co_firstlineno,
                "generator": bool(code.co_flags & CO_GENERATOR),
                "batches": batches,
                "steps_inside": self._steps_inside.get(code, 0),
                "steps": self._steps,
            }
            for code, batches in self._batches.items()
        ]


def _around(frame: FrameType | None) -> list[CodeType]:
    """From the loader outwards: what is resumed for each batch. The first function that is called once ends the row."""
    found: list[CodeType] = []
    for code in (each.f_code for each in _outwards(frame)):
        if _is_loaders(code):
            continue
        if code.co_name == _EXPRESSION or (not code.co_flags & CO_GENERATOR and code.co_name != "__next__"):
            break
        found.append(code)
    return found


def _is_loaders(code: CodeType) -> bool:
    data = sys.modules.get("torch.utils.data")
    folder = getattr(data, "__path__", (_OURS,))[0]
    return code.co_filename.startswith((_OURS, folder))


def _outwards(frame: FrameType | None) -> list[FrameType]:
    found: list[FrameType] = []
    while frame is not None and len(found) < _DEEPEST:
        found.append(frame)
        frame = frame.f_back
    return found


of_the_window: Callers | None = None
"""Of the window that is open."""


def saw_batch() -> None:
    """A loader makes or hands out a batch here; of interest while a window is open."""
    if of_the_window is not None:
        with guard(_LOST):
            of_the_window.batch(sys._getframe(1))


def saw_step() -> None:
    """A step ends here."""
    if of_the_window is not None:
        with guard(_LOST):
            of_the_window.step(sys._getframe(1))
