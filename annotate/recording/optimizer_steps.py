"""Who wants to know of each optimizer step of this process: one hook in torch, and a list of ours behind it.

torch calls its hooks while it iterates over them, in whichever thread steps: a hook that came or went meanwhile would
raise in the program. So ours goes in where that cannot be, and stays, asleep, where it cannot go.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

OF_A_BATCH: Final = 8
"""Steps without a batch of its own, until a thread that had one is fed by others: a batch may be of several optimizers,
and a thread that is fed may take those of an evaluation itself.
"""

Listener = Callable[[int], None]
"""Told which optimizer stepped, by its `id`."""

_listeners: Final[list[Listener]] = []
_steppers: Final[set[int]] = set()
"""Threads that have stepped since the hook is in."""
_handle: Any = None


def listen(listener: Listener) -> bool:
    """Have `listener` called after each optimizer step, in the thread that stepped. It must not raise.

    False: it will not be, since torch (2.0) has no such hook, or it cannot go in now.
    """
    if _handle is None and not _put_in():
        return False
    _listeners.append(listener)
    return True


def ignore(listener: Listener) -> None:
    """Call it no more, and take the hook out where nobody listens. Harmless when it is not called."""
    if listener in _listeners:
        _listeners.remove(listener)
    remove_hook()


def remove_hook() -> None:
    """Take the hook out, where nobody listens and no thread may be about to call it."""
    global _handle
    others = (_steppers & set(sys._current_frames())) - {get_ident()}
    if _handle is None or _listeners or others or _is_stepping(sys._getframe(1)):
        return
    handle, _handle = _handle, None
    _steppers.clear()
    handle.remove()


def _put_in() -> bool:
    global _handle
    from torch.optim import optimizer

    register = getattr(optimizer, "register_optimizer_step_post_hook", None)
    if register is None:
        return False
    others = getattr(optimizer, "_global_optimizer_post_hooks", None)
    if others != {} and any(map(_is_stepping, sys._current_frames().values())):
        return False
    _handle = register(_stepped)
    return True


def _stepped(optimizer: object, *args: object) -> None:
    _steppers.add(get_ident())
    for listener in tuple(_listeners):
        listener(id(optimizer))


_stepped._torchdynamo_disable = True  # type: ignore[attr-defined]
"""As by torch.compiler.disable, without importing that: in an optimizer that the program compiles, torch.compile would
look into here, and warn of what it finds."""


def _is_stepping(frame: FrameType | None) -> bool:
    """Whether an optimizer's step is going on in a thread: then a hook of the user's may be what has called us."""
    file = sys.modules["torch.optim.optimizer"].__file__
    while frame is not None:
        if frame.f_code.co_filename == file:
            return True
        frame = frame.f_back
    return False


def _after_fork() -> None:
    """A forked child has nobody who listens."""
    _listeners.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
